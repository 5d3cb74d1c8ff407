/* The last part of the runtime in a program. Code between this and the end is that of other objects, which has no hooks. */
void mw_end_of_runtime(void);
void mw_end_of_runtime(void) {}
