/* A program around one kernel.  The memory of the device is the file that comes as standard input, mapped at an
   address that the host chose; what the kernel prints goes to standard output as records. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void kernel(void *task, void *arena) __asm__(KERNEL);
extern void ordered(void *task, void *arena) __asm__(KERNEL "__ordered") __attribute__((weak));

enum { NO_MEMORY = 3 };

static void print(int64_t site, int32_t x, int32_t y, int32_t z, int64_t element, const uint64_t *value)
{
    struct { int64_t site; int32_t x, y, z, has_value; int64_t element; uint64_t value; } record =
        {site, x, y, z, value != NULL, element, value ? *value : 0};
    fwrite(&record, sizeof record, 1, stdout);
}

/* base, bytes, task, arena, offset of the task's printer, 1 for arrays that overlap */
int main(int count, char **words)
{
    uint64_t given[6];
    if (count != 7) return NO_MEMORY;
    for (int i = 0; i < 6; i++) given[i] = strtoull(words[1 + i], NULL, 10);
    void *base = (void *)given[0];
    if (mmap(base, given[1], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 0, 0) != base) return NO_MEMORY;
    *(void **)(given[2] + given[4]) = (void *)print;
    (given[5] ? ordered : kernel)((void *)given[2], (void *)given[3]);
    return 0;
}
