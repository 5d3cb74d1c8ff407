/* The last part of the runtime in a program. Code between this and the end is that of other objects, which has no hooks. */
void mw_end_of_runtime(void);
void mw_end_of_runtime(void) {}
/* These blocks are the last ones with variables of the runtime: see mw_begins_data. */
struct block { char bytes[64]; } mw_ends_data __attribute__((aligned(64))) = { { 1 } }, mw_ends_bss __attribute__((aligned(64)));
