/* A program around one kernel.  The memory of the device is the file that comes as standard input, mapped at an
   address that the host chose; what the kernel prints goes to standard output as records. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void kernel(void *task, void *arena) __asm__(KERNEL);
extern void ordered(void *task, void *arena) __asm__(KERNEL "__ordered") __attribute__((weak));

enum { NO_MEMORY = 3 };

enum { LINE, VALUE, REFUSED };

struct record { int64_t site; int32_t x, y, z, kind; int64_t where; uint64_t value; };

static void print(int64_t site, int32_t x, int32_t y, int32_t z, int64_t element, const uint64_t *value)
{
    struct record record = {site, x, y, z, value ? VALUE : LINE, element, value ? *value : 0};
    fwrite(&record, sizeof record, 1, stdout);
}

/* Of accesses outside of the ranges that the task has, the host hears of the first; all of them are left out. */
static int32_t check(void *task, int64_t site, int32_t x, int32_t y, int32_t z, int64_t address, void *row)
{
    static int refused;
    struct record record = {site, x, y, z, REFUSED, address, 0};
    (void)task, (void)row;
    if (!refused) fwrite(&record, sizeof record, 1, stdout);
    refused = 1;
    return 0;
}

/* base, bytes, task, arena, offsets of the task's printer and checker (0: it has none), 1 for arrays that overlap */
int main(int count, char **words)
{
    uint64_t given[7];
    if (count != 8) return NO_MEMORY;
    for (int i = 0; i < 7; i++) given[i] = strtoull(words[1 + i], NULL, 10);
    void *base = (void *)given[0];
    if (mmap(base, given[1], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 0, 0) != base) return NO_MEMORY;
    *(void **)(given[2] + given[4]) = (void *)print;
    if (given[5]) *(void **)(given[2] + given[5]) = (void *)check;
    (given[6] ? ordered : kernel)((void *)given[2], (void *)given[3]);
    return 0;
}
