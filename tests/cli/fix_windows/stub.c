/* Stands for wmic, diskpart, diskpar and format: notes in calls.log how it was called and what it was told, and prints what a
   file beside it says. Without that file it fails. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char log_text[1 << 16];

static void copy(FILE *from, FILE *to, const char *before) {
    char line[4096];
    while (fgets(line, sizeof line, from)) {
        line[strcspn(line, "\r\n")] = 0;
        fprintf(to, "%s%s\n", before, line);
    }
}

/* A file of the test itself that cannot be had is no answer: the test says so (wine.rs). */
static FILE *must(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (file) return file;
    FILE *out = fopen("stub.err", "a");
    if (out) fprintf(out, "%s: errno %d\n", name, errno);
    exit(3);
}

int main(int argc, char **argv) {
    char name[256] = "", answer[512];
    const char *base = argv[0];
    for (const char *c = argv[0]; *c; c++)
        if (*c == '\\' || *c == '/') base = c + 1;
    strncpy(name, base, sizeof name - 1);
    char *dot = strrchr(name, '.');
    if (dot) *dot = 0;

    int asked = 0;
    FILE *log = fopen("calls.log", "r");
    if (log) {
        size_t n = fread(log_text, 1, sizeof log_text - 1, log);
        log_text[n] = 0;
        fclose(log);
        for (char *at = log_text; (at = strstr(at, "diskpar -i")); at++) asked++;
    }
    log = must("calls.log", "a");
    fprintf(log, "%s", name);
    for (int i = 1; i < argc; i++) fprintf(log, " %s", argv[i]);
    fprintf(log, "\n");

    snprintf(answer, sizeof answer, "%s.txt", name);
    if (!strcmp(name, "wmic") && argc > 6)
        snprintf(answer, sizeof answer, "wmic-%s-%s-%s.txt", argv[1], argv[3], argv[5]);
    if (!strcmp(name, "diskpart") && argc > 2) {
        FILE *script = fopen(argv[2], "r");
        if (!script) return 1;
        copy(script, log, "    ");
        fclose(script);
    }
    if (!strcmp(name, "diskpar") && argc > 1) {
        if (!strcmp(argv[1], "-i")) snprintf(answer, sizeof answer, "diskpar-%d.txt", asked + 1);
        if (!strcmp(argv[1], "-s")) copy(stdin, log, "    ");
    }
    fclose(log);
    FILE *text = fopen(answer, "r");
    if (!text) return 1;
    copy(text, stdout, "");
    fclose(text);
    return 0;
}
