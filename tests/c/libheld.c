/* Helper of held: says when it is loaded and unloaded, while the loader's locks are held. */
void held_constructor(void);
void held_destructor(void);

__attribute__((constructor)) static void loaded(void) { held_constructor(); }
__attribute__((destructor)) static void unloaded(void) { held_destructor(); }
