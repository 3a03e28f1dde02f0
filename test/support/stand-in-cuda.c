/* What tritune uses of the CUDA driver, with one device whose memory is POSIX shared memory, so that another process can open it: an
   IPC handle holds the name of the object. It refuses what the driver refuses: no cuInit, no current context, foreign addresses. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };
enum { MOST_BLOCKS = 256, HANDLE_BYTES = 64 };
#define CONTEXT 0xc0de
#define MEMORY_BYTES (256ull << 20)

typedef unsigned long long address_t;

static struct {
  char *start;
  size_t bytes;
  char name[HANDLE_BYTES];
} blocks[MOST_BLOCKS];
static size_t used = 0;
static int count = 0, initialized = 0;
static __thread uint64_t current = 0;

static int block_of(address_t address, size_t bytes) {
  for (int i = 0; i < MOST_BLOCKS; i++) {
    address_t start = (address_t)(uintptr_t)blocks[i].start;
    if (start && address >= start && address + bytes <= start + blocks[i].bytes) return i;
  }
  return -1;
}

int cuInit(unsigned int flags) {
  initialized = flags == 0;
  return initialized ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGet(int *device, int ordinal) {
  if (!initialized) return NOT_INITIALIZED;
  if (ordinal != 0) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(uint64_t *context, int device) {
  if (device != 0) return INVALID_DEVICE;
  *context = CONTEXT;
  return SUCCESS;
}

int cuCtxSetCurrent(uint64_t context) {
  current = context;
  return context == CONTEXT ? SUCCESS : INVALID_CONTEXT;
}

int cuCtxSynchronize(void) { return current == CONTEXT ? SUCCESS : INVALID_CONTEXT; }

int cuMemAlloc_v2(address_t *address, size_t bytes) {
  if (current != CONTEXT) return INVALID_CONTEXT;
  if (bytes == 0) return INVALID_VALUE;
  int i = 0;
  while (i < MOST_BLOCKS && blocks[i].start) i++;
  if (i == MOST_BLOCKS || used + bytes > MEMORY_BYTES) return OUT_OF_MEMORY;
  snprintf(blocks[i].name, HANDLE_BYTES, "/stand-in-cuda-%d-%d", getpid(), count++);
  int file = shm_open(blocks[i].name, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, (off_t)bytes)) return OUT_OF_MEMORY;
  blocks[i].start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (blocks[i].start == MAP_FAILED) return OUT_OF_MEMORY;
  used += blocks[i].bytes = bytes;
  *address = (address_t)(uintptr_t)blocks[i].start;
  return SUCCESS;
}

int cuMemFree_v2(address_t address) {
  int i = block_of(address, 1);
  if (current != CONTEXT) return INVALID_CONTEXT;
  if (i < 0 || address != (address_t)(uintptr_t)blocks[i].start) return INVALID_VALUE;
  munmap(blocks[i].start, blocks[i].bytes);
  shm_unlink(blocks[i].name);
  used -= blocks[i].bytes;
  blocks[i].start = NULL;
  return SUCCESS;
}

int cuIpcGetMemHandle(void *handle, address_t address) {
  int i = block_of(address, 1);
  if (current != CONTEXT) return INVALID_CONTEXT;
  if (i < 0 || address != (address_t)(uintptr_t)blocks[i].start) return INVALID_VALUE;
  memcpy(handle, blocks[i].name, HANDLE_BYTES);
  return SUCCESS;
}

int cuMemcpyHtoD_v2(address_t to, const void *from, size_t bytes) {
  if (current != CONTEXT) return INVALID_CONTEXT;
  if (block_of(to, bytes) < 0) return INVALID_VALUE;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, address_t from, size_t bytes) {
  if (current != CONTEXT) return INVALID_CONTEXT;
  if (block_of(from, bytes) < 0) return INVALID_VALUE;
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return SUCCESS;
}

int cuGetErrorName(int status, const char **name) {
  switch (status) {
    case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; return SUCCESS;
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return SUCCESS;
    case NOT_INITIALIZED: *name = "CUDA_ERROR_NOT_INITIALIZED"; return SUCCESS;
    case INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; return SUCCESS;
    case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; return SUCCESS;
    default: *name = NULL; return INVALID_VALUE;
  }
}

/* The memory of a process goes with it. */
__attribute__((destructor)) static void leave(void) {
  for (int i = 0; i < MOST_BLOCKS; i++)
    if (blocks[i].start) shm_unlink(blocks[i].name);
}
