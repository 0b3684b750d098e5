/* main CASE: what is tested lies in libharness.so, whose pages allow indirect jumps to landing pads alone. */
int harness(const char *name);

int main(int count, char **arguments) { return count == 2 ? harness(arguments[1]) : 2; }
