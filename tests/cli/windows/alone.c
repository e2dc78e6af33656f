/* Runs a command while it has a file for itself, as SQL Server has its own: alone.exe FILE COMMAND. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int count, char **words) {
    HANDLE file;
    if (count != 3) return 100;
    file = CreateFileA(words[1], GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return 101;
    return system(words[2]);
}
