/* What the stub libraries share: a text beside the library says what each call answers.
 *
 * A line `KEY = VALUE` is an answer: `count = 8`, `3.name = NVIDIA H100`. A key may hold `*` for the device's number, and
 * a value `{i}` for it, `{x}` for it as two hex digits. A value `!N` makes the call return error N, `hang` never returns
 * and ignores every signal, `crash` ends the process, `leave` leaves it, `print` writes to descriptor 1 and then answers
 * nothing. What no line answers is not supported. Who includes this says what that is: NOT_SUPPORTED.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, LONGEST = 256 };

static char text[1 << 18];

static void misbehave(const char *how)
{
    if (!strcmp(how, "hang")) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (;;)
            pause();
    }
    if (!strcmp(how, "crash"))
        *(volatile int *)0 = 1;
    if (!strcmp(how, "leave"))
        _exit(0);
    if (!strcmp(how, "print"))
        printf("something went wrong\n"), fflush(stdout);
}

static int line_of(const char *key, char *value)
{
    char *line = text;
    size_t length = strlen(key);
    while (*line) {
        char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        if (size > length + 3 && !strncmp(line, key, length) && !strncmp(line + length, " = ", 3)) {
            size -= length + 3;
            if (size >= LONGEST)
                size = LONGEST - 1;
            memcpy(value, line + length + 3, size);
            value[size] = 0;
            return 1;
        }
        if (!end)
            break;
        line = end + 1;
    }
    return 0;
}

/* The value of a key, for one device or for all; what it says to do is done, an error it names is given back. */
static int answer(int index, const char *name, char *value)
{
    char key[LONGEST];
    if (index < 0)
        snprintf(key, sizeof key, "%s", name);
    else
        snprintf(key, sizeof key, "%d.%s", index, name);
    if (!line_of(key, value)) {
        snprintf(key, sizeof key, "*.%s", name);
        if (index < 0 || !line_of(key, value))
            return NOT_SUPPORTED;
    }
    misbehave(value);
    if (value[0] == '!')
        return atoi(value + 1);
    if (!strcmp(value, "print"))
        return NOT_SUPPORTED;
    if (index >= 0) { /* `{i}` stands for the device's number, `{x}` for it as two hex digits */
        char *mark, rest[LONGEST];
        while ((mark = strstr(value, "{i}")) || (mark = strstr(value, "{x}"))) {
            int hex = mark[1] == 'x';
            snprintf(rest, sizeof rest, "%s", mark + 3);
            snprintf(mark, LONGEST - (mark - value), hex ? "%02X%s" : "%d%s", index, rest);
        }
    }
    return OK;
}

static int number(int index, const char *name, unsigned long long *out)
{
    char value[LONGEST];
    int code = answer(index, name, value);
    if (code == OK)
        *out = strtoull(value, NULL, 0);
    return code;
}

static void load(const char *name)
{
    Dl_info self;
    char path[4096];
    FILE *file;
    char *folder;
    size_t size;
    if (!dladdr((void *)load, &self))
        return;
    snprintf(path, sizeof path, "%s", self.dli_fname);
    folder = strrchr(path, '/');
    snprintf(folder ? folder + 1 : path, 16, "%s", name);
    file = fopen(path, "r");
    if (!file)
        return;
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    fclose(file);
}
