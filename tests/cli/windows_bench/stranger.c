/* Somebody else on the same machine, who forbids nothing: tries to write to a file, to rename it, to delete it and to put another in its
   place, and prints the error of each, 0 where nothing kept it from that. */
#include <stdio.h>
#include <windows.h>

static void tried(const char *what, BOOL done) {
    printf("%s %lu\n", what, done ? 0UL : GetLastError());
}

int main(int count, char **words) {
    const char *path = words[1];
    char aside[1024], other[1024];
    HANDLE file;
    if (count != 2) return 1;
    snprintf(aside, sizeof aside, "%s.aside", path);
    snprintf(other, sizeof other, "%s.other", path);
    file = CreateFileA(path, GENERIC_READ, 7, NULL, OPEN_EXISTING, 0, NULL);
    tried("read", file != INVALID_HANDLE_VALUE);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    file = CreateFileA(path, GENERIC_WRITE, 7, NULL, OPEN_EXISTING, 0, NULL);
    tried("write", file != INVALID_HANDLE_VALUE);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    file = CreateFileA(path, DELETE, 7, NULL, OPEN_EXISTING, 0, NULL);
    tried("open to delete", file != INVALID_HANDLE_VALUE);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    file = CreateFileA(other, GENERIC_WRITE, 7, NULL, CREATE_ALWAYS, 0, NULL);
    CloseHandle(file);
    tried("replace", MoveFileExA(other, path, MOVEFILE_REPLACE_EXISTING));
    DeleteFileA(other);
    tried("rename", MoveFileA(path, aside));
    tried("delete", DeleteFileA(path));
    return 0;
}
