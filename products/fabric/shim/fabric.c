// The part of libfabric that is used, as functions that Rust can call. Many of libfabric's own are static inlines of
// its headers.
//
// A node has a region of registered memory and an endpoint at which others reach it. A thread has an endpoint from
// which its operations start: that of its node, or one of its own. An operation other than a put has a slot, and its
// completion names that slot. All functions return 0 or a negative error of libfabric.

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

// The version of the interface that is requested, not of the library.
#define INTERFACE FI_VERSION(1, 17)

// The orders of the operations of one endpoint at one node, all of which the model demands: no put or get passes a put, no atomic
// operation passes a put, nothing passes an atomic operation, and reads are made in their order. Their data come back, and are placed,
// in that order. A provider without them is refused.
#define ORDERS (FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAW)
// The same of a node whose operations are all atomic.
#define ATOMIC_ORDERS (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW)

// The functions that are not static inlines of libfabric's headers. They are loaded when a fabric is first opened, and
// not linked, because libfabric brings drivers that are set up as soon as it is loaded. One of them takes SIGINT for
// itself.
static struct {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
} library;

#ifdef __APPLE__
#define LIBRARY "libfabric.1.dylib"
#else
#define LIBRARY "libfabric.so.1"
#endif

// True while this thread is inside the provider.
static __thread volatile int is_inside;

// A call of the provider for operations.
#define VISIT(call) ({ \
    is_inside = 1; \
    __typeof__(call) result_ = (call); \
    is_inside = 0; \
    result_; \
})

// What a crash inside the provider writes.
static char last_words[512];

void fabric_last_words(const char *text) {
    strncpy(last_words, text, sizeof last_words - 1);
}

// Writes a text to standard error, and ends the process at once, also in a handler of signals.
__attribute__((noreturn)) void fabric_leave(const char *text) {
    ssize_t written = write(2, text, strlen(text));
    (void)written;
    _exit(2);
}

static struct sigaction before;

// Another crash than one of the provider is handled as before.
static void crashed(int number, siginfo_t *info, void *context) {
    (void)context;
    if (is_inside) fabric_leave(last_words);
    sigaction(SIGSEGV, &before, NULL);
    if (info->si_code <= 0) raise(number);
}

// Loads libfabric. Returns NULL, or the reason why that failed. This has to be called once, before all other functions.
const char *fabric_load(void) {
    struct sigaction crash = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    sigaction(SIGSEGV, NULL, &before);
    void *loaded = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    sigaction(SIGINT, &interrupt, NULL);
    // A driver of libfabric has a handler of its own.
    sigaction(SIGSEGV, &crash, NULL);
    if (!loaded) return dlerror();
    library.getinfo = dlsym(loaded, "fi_getinfo");
    library.freeinfo = dlsym(loaded, "fi_freeinfo");
    library.dupinfo = dlsym(loaded, "fi_dupinfo");
    library.fabric = dlsym(loaded, "fi_fabric");
    library.strerror = dlsym(loaded, "fi_strerror");
    int whole = library.getinfo && library.freeinfo && library.dupinfo && library.fabric && library.strerror;
    return whole ? NULL : LIBRARY " lacks functions";
}

const char *fabric_text(int error) {
    return library.strerror(error);
}

struct side {
    struct fid_cq *queue;
    struct fid_ep *endpoint;
};

struct fabric_node {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *peers;
    struct fid_mr *memory;
    char *begin;
    struct side passive;
    // True if puts and gets are atomic operations, because the provider keeps only their words whole.
    int is_atomic;
    // The largest number of bytes of an atomic operation.
    size_t atomic;
};

struct slot {
    // Space that a provider may need while an operation is under way. It comes first, because the address of a slot is
    // its context.
    struct fi_context2 context;
    uint64_t operand;
    uint64_t compare;
};

// The largest number of completions that are read together. Each read polls the network, which takes a call of the system.
enum { COMPLETIONS = 32 };

struct fabric_end {
    struct fabric_node *node;
    // The endpoint of the node, or `own`.
    struct side *active;
    struct side own;
    struct slot *slots;
    size_t count;
    struct fid_mr *operands;
    // Completions that were read, their number, and how many of them have been returned.
    struct fi_cq_entry completions[COMPLETIONS];
    ssize_t read;
    ssize_t returned;
};

static void side_close(struct side *side) {
    if (side->endpoint) fi_close(&side->endpoint->fid);
    if (side->queue) fi_close(&side->queue->fid);
    side->endpoint = NULL;
    side->queue = NULL;
}

static int side_open(struct fabric_node *node, struct side *side) {
    struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    int err = fi_cq_open(node->domain, &attributes, &side->queue, NULL);
    if (!err) err = fi_endpoint(node->domain, node->info, &side->endpoint, NULL);
    if (!err) err = fi_ep_bind(side->endpoint, &node->peers->fid, 0);
    if (!err) err = fi_ep_bind(side->endpoint, &side->queue->fid, FI_TRANSMIT | FI_RECV);
    if (!err) err = fi_enable(side->endpoint);
    if (err) side_close(side);
    return err;
}

void fabric_node_close(struct fabric_node *node) {
    side_close(&node->passive);
    if (node->memory) fi_close(&node->memory->fid);
    if (node->peers) fi_close(&node->peers->fid);
    if (node->domain) fi_close(&node->domain->fid);
    if (node->fabric) fi_close(&node->fabric->fid);
    if (node->info) library.freeinfo(node->info);
    free(node);
}

// Finds the largest number of bytes of an atomic put and get.
static int atomic_limit(struct fabric_node *node) {
    size_t writes = 0, reads = 0;
    int err = fi_atomicvalid(node->passive.endpoint, FI_UINT64, FI_ATOMIC_WRITE, &writes);
    if (!err) err = fi_fetch_atomicvalid(node->passive.endpoint, FI_UINT64, FI_ATOMIC_READ, &reads);
    node->atomic = 8 * (writes < reads ? writes : reads);
    return err;
}

static int info_of(const char *provider, const char *source, int is_atomic, struct fi_info **out) {
    struct fi_info *hints = library.dupinfo(NULL);
    if (!hints) return -FI_ENOMEM;
    hints->caps = FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = is_atomic ? ATOMIC_ORDERS : ORDERS;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = strdup(provider);
    int err = library.getinfo(INTERFACE, *source ? source : NULL, NULL, *source ? FI_SOURCE : 0, hints, out);
    library.freeinfo(hints);
    return err;
}

// Lets operations of an endpoint reach memory, for a provider that demands this.
static int reached(struct fabric_node *node, struct fid_mr *memory, struct side *side) {
    if (!(node->info->domain_attr->mr_mode & FI_MR_ENDPOINT)) return 0;
    int err = fi_mr_bind(memory, &side->endpoint->fid, 0);
    return err ? err : fi_mr_enable(memory);
}

// Opens a node, whose memory others reach by a key. Puts and gets are atomic operations if `is_atomic` is not 0.
int fabric_node_open(const char *provider, const char *source, int is_atomic, uint64_t key, void *memory, size_t bytes,
                     struct fabric_node **out) {
    struct fabric_node *node = calloc(1, sizeof *node);
    if (!node) return -FI_ENOMEM;
    node->begin = memory;
    node->is_atomic = is_atomic;
    struct fi_av_attr attributes = {.type = FI_AV_UNSPEC};
    uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    int err = info_of(provider, source, is_atomic, &node->info);
    if (!err) err = library.fabric(node->info->fabric_attr, &node->fabric, NULL);
    if (!err) err = fi_domain(node->fabric, node->info, &node->domain, NULL);
    if (!err) err = fi_av_open(node->domain, &attributes, &node->peers, NULL);
    if (!err) err = fi_mr_reg(node->domain, memory, bytes, access, 0, key, 0, &node->memory, NULL);
    if (!err) err = side_open(node, &node->passive);
    if (!err) err = reached(node, node->memory, &node->passive);
    if (!err && is_atomic) err = atomic_limit(node);
    if (err) {
        fabric_node_close(node);
        return err;
    }
    *out = node;
    return 0;
}

// Writes the address of a node's endpoint, at most `*length` bytes.
int fabric_node_name(struct fabric_node *node, void *name, size_t *length) {
    return fi_getname(&node->passive.endpoint->fid, name, length);
}

static size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

// The limit of an order: 0 is none. So says `tcp` of libfabric 1.17, which places what arrives in the order of the bytes.
static size_t limit(size_t size) {
    return size ? size : SIZE_MAX;
}

// Writes the largest numbers of bytes: of a put without a completion, and of any operation that keeps its order.
void fabric_node_limits(struct fabric_node *node, size_t *quick, size_t *ordered) {
    struct fi_ep_attr *attributes = node->info->ep_attr;
    *quick = node->info->tx_attr->inject_size;
    *ordered = lesser(attributes->max_msg_size, lesser(limit(attributes->max_order_raw_size), limit(attributes->max_order_waw_size)));
    if (node->is_atomic) *ordered = lesser(*ordered, node->atomic);
}

// Writes the values that operations on the memory of a node carry with them: its key, and the address of its first
// byte.
void fabric_node_memory(struct fabric_node *node, uint64_t *key, uint64_t *base) {
    *key = fi_mr_key(node->memory);
    *base = node->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)node->begin : 0;
}

int fabric_node_know(struct fabric_node *node, const void *name, uint64_t *peer) {
    fi_addr_t address = FI_ADDR_UNSPEC;
    int count = fi_av_insert(node->peers, name, 1, &address, 0, NULL);
    *peer = address;
    return count == 1 ? 0 : count < 0 ? count : -FI_EINVAL;
}

// Progresses the operations that others have posted at this node. Reading 0 entries does not take a completion.
void fabric_node_progress(struct fabric_node *node) {
    VISIT(fi_cq_read(node->passive.queue, NULL, 0));
}

void fabric_end_close(struct fabric_end *end) {
    side_close(&end->own);
    if (end->operands) fi_close(&end->operands->fid);
    free(end->slots);
    free(end);
}

// Opens an endpoint with so many slots: that of the node, which one thread may use, or another. The endpoints of a node
// have different keys, all other than that of the memory.
int fabric_end_open(struct fabric_node *node, size_t count, uint64_t key, int is_of_node, struct fabric_end **out) {
    struct fabric_end *end = calloc(1, sizeof *end);
    if (!end) return -FI_ENOMEM;
    end->node = node;
    end->active = is_of_node ? &node->passive : &end->own;
    end->count = count;
    end->slots = calloc(count, sizeof *end->slots);
    int err = end->slots ? 0 : -FI_ENOMEM;
    size_t bytes = count * sizeof *end->slots;
    if (!err && (node->info->domain_attr->mr_mode & FI_MR_LOCAL))
        err = fi_mr_reg(node->domain, end->slots, bytes, FI_READ | FI_WRITE, 0, key, 0, &end->operands, NULL);
    if (!err && !is_of_node) err = side_open(node, &end->own);
    if (!err && end->operands) err = reached(node, end->operands, end->active);
    if (err) {
        fabric_end_close(end);
        return err;
    }
    *out = end;
    return 0;
}

// Writes the address of an endpoint, at most `*length` bytes.
int fabric_end_name(struct fabric_end *end, void *name, size_t *length) {
    return fi_getname(&end->active->endpoint->fid, name, length);
}

// Copies bytes of the own memory, at most as many as `fabric_node_limits` says, to `at` of a peer. They have been read when this
// returns, so a completion does not follow.
int fabric_put(struct fabric_end *end, size_t slot, size_t own, size_t bytes, uint64_t peer, uint64_t at, uint64_t key) {
    (void)slot;
    if (end->node->is_atomic)
        return VISIT(fi_inject_atomic(end->active->endpoint, end->node->begin + own, bytes / 8, peer, at, key, FI_UINT64, FI_ATOMIC_WRITE));
    return VISIT(fi_inject_write(end->active->endpoint, end->node->begin + own, bytes, peer, at, key));
}

// Copies bytes of the own memory to `at` of a peer. They have been read when the operation completes.
int fabric_put_large(struct fabric_end *end, size_t slot, size_t own, size_t bytes, uint64_t peer, uint64_t at, uint64_t key) {
    void *from = end->node->begin + own;
    if (end->node->is_atomic)
        return VISIT(fi_atomic(end->active->endpoint, from, bytes / 8, fi_mr_desc(end->node->memory), peer, at, key, FI_UINT64,
                         FI_ATOMIC_WRITE, end->slots + slot));
    return VISIT(fi_write(end->active->endpoint, from, bytes, fi_mr_desc(end->node->memory), peer, at, key, end->slots + slot));
}

int fabric_get(struct fabric_end *end, size_t slot, size_t own, size_t bytes, uint64_t peer, uint64_t at, uint64_t key) {
    void *to = end->node->begin + own;
    void *local = fi_mr_desc(end->node->memory);
    if (end->node->is_atomic)
        return VISIT(fi_fetch_atomic(end->active->endpoint, to, bytes / 8, local, to, local, peer, at, key, FI_UINT64, FI_ATOMIC_READ,
                               end->slots + slot));
    return VISIT(fi_read(end->active->endpoint, to, bytes, local, peer, at, key, end->slots + slot));
}

static void *operands_of(struct fabric_end *end) {
    return end->operands ? fi_mr_desc(end->operands) : NULL;
}

int fabric_add(struct fabric_end *end, size_t slot, size_t own, uint64_t peer, uint64_t at, uint64_t key, uint64_t more) {
    struct slot *s = end->slots + slot;
    void *to = end->node->begin + own;
    s->operand = more;
    return VISIT(fi_fetch_atomic(end->active->endpoint, &s->operand, 1, operands_of(end), to, fi_mr_desc(end->node->memory), peer, at,
                           key, FI_UINT64, FI_SUM, s));
}

int fabric_swap(struct fabric_end *end, size_t slot, size_t own, uint64_t peer, uint64_t at, uint64_t key, uint64_t old,
                uint64_t new) {
    struct slot *s = end->slots + slot;
    void *to = end->node->begin + own;
    s->operand = new;
    s->compare = old;
    void *operands = operands_of(end);
    return VISIT(fi_compare_atomic(end->active->endpoint, &s->operand, 1, operands, &s->compare, operands, to,
                             fi_mr_desc(end->node->memory), peer, at, key, FI_UINT64, FI_CSWAP, s));
}

// Progresses operations without taking a completion.
void fabric_end_progress(struct fabric_end *end) {
    VISIT(fi_cq_read(end->active->queue, NULL, 0));
}

// Returns the slot that is the context of an operation, or the number of slots if there is none.
static size_t slot_of(const struct fabric_end *end, const void *context) {
    return context ? (size_t)((const struct slot *)context - end->slots) : end->count;
}

// Returns the error of an operation that has failed, and writes its slot.
static int failure(struct fabric_end *end, size_t *slot) {
    struct fi_cq_err_entry error = {0};
    ssize_t count = VISIT(fi_cq_readerr(end->active->queue, &error, 0));
    if (count < 0) return count == -FI_EAGAIN ? 0 : (int)count;
    *slot = slot_of(end, error.op_context);
    return error.err ? -error.err : -FI_EOTHER;
}

// Writes the slot of an operation that has completed, or the number of slots if there is none. Returns the error of an
// operation that failed.
int fabric_end_next(struct fabric_end *end, size_t *slot) {
    *slot = end->count;
    if (end->returned == end->read) {
        ssize_t count = VISIT(fi_cq_read(end->active->queue, end->completions, COMPLETIONS));
        if (count == -FI_EAVAIL) return failure(end, slot);
        if (count <= 0) return count == -FI_EAGAIN ? 0 : (int)count;
        end->read = count;
        end->returned = 0;
    }
    *slot = slot_of(end, end->completions[end->returned++].op_context);
    return 0;
}
