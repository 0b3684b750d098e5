/* Helper of rtld_next: the tool behind the forwarding library. */
int ompt_start_tool(int version) { return version + 1; }
