/* Disks and volumes that answer what a captured host kept: a driver of Windows, for Wine. Which disks and volumes there are, and what
   they say, stands below C:\answers as `straddle capture` writes it below .straddle/windows; `disk/N/bytes` beside it is what can be
   read of a disk. Numbers and structures are those of mingw's headers. Every question is noted in C:\answers\calls.log. */
#include <ddk/ntifs.h>
#include <ntdddisk.h>
#include <ntddvol.h>

#define WORDS 1024
#define ANSWER (1 << 20)

/* Wine serves one request after the other, and there is little room on its stack: what is long is static. */

typedef struct {
    WCHAR folder[WORDS];
} Device;

static void add(WCHAR *to, const WCHAR *more) {
    while (*to) to++;
    while ((*to++ = *more++)) {}
}

static void add_number(WCHAR *to, ULONG number, ULONG base, int width) {
    WCHAR digits[33];
    int at = 32;
    digits[32] = 0;
    do {
        ULONG digit = number % base;
        digits[--at] = (WCHAR)(digit < 10 ? '0' + digit : 'a' + digit - 10);
        number /= base;
    } while ((number || 32 - at < width) && at > 0);
    add(to, digits + at);
}

static NTSTATUS open(const WCHAR *path, BOOLEAN to_append, HANDLE *file) {
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK status;
    RtlInitUnicodeString(&name, path);
    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, NULL, NULL);
    return ZwCreateFile(file, (to_append ? FILE_APPEND_DATA : GENERIC_READ) | SYNCHRONIZE, &attributes, &status, NULL,
                        FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ | FILE_SHARE_WRITE, to_append ? FILE_OPEN_IF : FILE_OPEN,
                        FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
}

/* What a file holds from a byte on; its length. */
static NTSTATUS read(const WCHAR *path, LONGLONG from, void *to, ULONG room, ULONG *length) {
    HANDLE file;
    IO_STATUS_BLOCK status;
    LARGE_INTEGER at;
    NTSTATUS done = open(path, FALSE, &file);
    if (done) return done;
    at.QuadPart = from;
    done = ZwReadFile(file, NULL, NULL, NULL, &status, to, room, &at, NULL);
    ZwClose(file);
    *length = done ? 0 : (ULONG)status.Information;
    return done;
}

static void note(const WCHAR *line) {
    HANDLE file;
    IO_STATUS_BLOCK status;
    static char text[WORDS];
    ULONG length = 0;
    while (line[length] && length < sizeof text - 1) {
        text[length] = (char)line[length];
        length++;
    }
    text[length++] = '\n';
    if (open(L"\\??\\C:\\answers\\calls.log", TRUE, &file)) return;
    ZwWriteFile(file, NULL, NULL, NULL, &status, text, length, NULL, NULL);
    ZwClose(file);
}

/* What a captured host calls the answer to a question; none where it does not keep it. */
static const WCHAR *name_of(ULONG code, const void *input, ULONG length) {
    const STORAGE_PROPERTY_QUERY *query = input;
    switch (code) {
    case IOCTL_DISK_GET_DRIVE_LAYOUT_EX: return L"layout";
    case IOCTL_DISK_GET_LENGTH_INFO: return L"length";
    case IOCTL_DISK_GET_DRIVE_GEOMETRY_EX: return L"geometry";
    case IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: return L"extents";
    case IOCTL_STORAGE_GET_DEVICE_NUMBER: return L"number";
    case FSCTL_GET_NTFS_VOLUME_DATA: return L"ntfs";
    case CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 182, METHOD_BUFFERED, FILE_ANY_ACCESS): return L"refs"; /* newer than the headers */
    case FSCTL_GET_COMPRESSION: return L"compression";
    case FSCTL_GET_RETRIEVAL_POINTERS: return L"pointers";
    case FSCTL_GET_RETRIEVAL_POINTER_BASE: return L"pointer-base";
    case IOCTL_STORAGE_QUERY_PROPERTY: break;
    default: return NULL;
    }
    if (length < FIELD_OFFSET(STORAGE_PROPERTY_QUERY, AdditionalParameters) || query->QueryType != PropertyStandardQuery) return NULL;
    switch ((int)query->PropertyId) {
    case StorageDeviceProperty: return L"device";
    case StorageAdapterProperty: return L"adapter";
    case StorageDeviceWriteCacheProperty: return L"write-cache";
    case StorageAccessAlignmentProperty: return L"alignment";
    case StorageDeviceTrimProperty: return L"trim";
    case StorageDeviceSeekPenaltyProperty: return L"seek-penalty";
    case 50: return L"nvme-namespace"; /* StorageDeviceProtocolSpecificProperty, which older headers do not have. */
    default: return NULL;
    }
}

/* `refused: 5 Access is denied.` as a status. */
static NTSTATUS refusal(const char *text, ULONG length) {
    static const char begin[] = "refused: ";
    ULONG code = 0, at;
    for (at = 0; at < sizeof begin - 1; at++)
        if (at >= length || text[at] != begin[at]) return STATUS_SUCCESS;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) code = code * 10 + (ULONG)(text[at] - '0');
    switch (code) {
    case 1: return STATUS_INVALID_DEVICE_REQUEST;
    case 2: return STATUS_NO_SUCH_FILE;
    case 5: return STATUS_ACCESS_DENIED;
    case 21: return STATUS_DEVICE_NOT_READY;
    case 38: return STATUS_END_OF_FILE;
    case 55: return STATUS_DEVICE_DOES_NOT_EXIST;
    case 1112: return STATUS_NO_MEDIA_IN_DEVICE;
    case 1117: return STATUS_IO_DEVICE_ERROR;
    default: return STATUS_NOT_SUPPORTED;
    }
}

static NTSTATUS answer(const Device *device, const WCHAR *what, void *to, ULONG room, ULONG_PTR *written) {
    static char kept[ANSWER];
    static WCHAR path[WORDS];
    ULONG length;
    NTSTATUS status;
    path[0] = 0;
    add(path, device->folder);
    add(path, what);
    if (read(path, 0, kept, sizeof kept, &length)) return STATUS_NOT_SUPPORTED;
    status = refusal(kept, length);
    if (status) return status;
    if (room < length) {
        /* A layout that does not fit is not begun; others are written as far as there is room. */
        if (what[0] == 'l' && what[1] == 'a') return STATUS_BUFFER_TOO_SMALL;
        RtlCopyMemory(to, kept, room);
        *written = room;
        return STATUS_BUFFER_OVERFLOW;
    }
    RtlCopyMemory(to, kept, length);
    *written = length;
    return STATUS_SUCCESS;
}

static NTSTATUS complete(IRP *irp, NTSTATUS status, ULONG_PTR written) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = written;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

static NTSTATUS WINAPI opened(DEVICE_OBJECT *object, IRP *irp) {
    return complete(irp, STATUS_SUCCESS, 0);
}

static NTSTATUS WINAPI asked(DEVICE_OBJECT *object, IRP *irp) {
    const Device *device = object->DeviceExtension;
    const IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    ULONG code = stack->Parameters.DeviceIoControl.IoControlCode;
    ULONG length = stack->Parameters.DeviceIoControl.InputBufferLength;
    ULONG room = stack->Parameters.DeviceIoControl.OutputBufferLength;
    BOOLEAN is_neither = (code & 3) == METHOD_NEITHER;
    const UCHAR *input = is_neither ? stack->Parameters.DeviceIoControl.Type3InputBuffer : irp->AssociatedIrp.SystemBuffer;
    void *output = is_neither ? irp->UserBuffer : irp->AssociatedIrp.SystemBuffer;
    const WCHAR *what = name_of(code, input, length);
    ULONG_PTR written = 0;
    NTSTATUS status;
    static WCHAR line[WORDS];
    ULONG at;
    line[0] = 0;
    add(line, device->folder + 15);
    add(line, what ? what : L"?");
    add(line, L" 0x");
    add_number(line, code, 16, 8);
    add(line, L" room ");
    add_number(line, room, 10, 1);
    add(line, L" in ");
    add_number(line, length, 10, 1);
    for (at = 0; at < length && at < 48; at++) {
        add(line, at % 4 ? L"" : L" ");
        add_number(line, input[at], 16, 2);
    }
    status = what ? answer(device, what, output, room, &written) : STATUS_NOT_SUPPORTED;
    add(line, L" = 0x");
    add_number(line, (ULONG)status, 16, 8);
    note(line);
    return complete(irp, status, written);
}

static NTSTATUS WINAPI asked_of_volume(DEVICE_OBJECT *object, IRP *irp) {
    const IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    ULONG_PTR written = 0;
    const WCHAR *what;
    NTSTATUS status;
    /* The tests lay these out by hand. */
    _Static_assert(FIELD_OFFSET(FILE_FS_SIZE_INFORMATION, BytesPerSector) == 20, "size");
    _Static_assert(FIELD_OFFSET(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName) == 12, "name");
    switch ((int)stack->Parameters.QueryVolume.FsInformationClass) {
    case FileFsSizeInformation: what = L"size"; break;
    case FileFsAttributeInformation: what = L"name"; break;
    case 11: what = L"sectors"; break; /* FileFsSectorSizeInformation */
    default: return complete(irp, STATUS_NOT_SUPPORTED, 0);
    }
    status = answer(object->DeviceExtension, what, irp->AssociatedIrp.SystemBuffer, stack->Parameters.QueryVolume.Length, &written);
    return complete(irp, status, written);
}

/* Whole sectors only, as disks read them. */
static NTSTATUS WINAPI reads(DEVICE_OBJECT *object, IRP *irp) {
    const Device *device = object->DeviceExtension;
    const IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    LONGLONG from = stack->Parameters.Read.ByteOffset.QuadPart;
    ULONG wanted = stack->Parameters.Read.Length, length = 0;
    static WCHAR path[WORDS];
    NTSTATUS status;
    if (from % 512 || wanted % 512) return complete(irp, STATUS_INVALID_PARAMETER, 0);
    path[0] = 0;
    add(path, device->folder);
    add(path, L"bytes");
    status = read(path, from, irp->AssociatedIrp.SystemBuffer, wanted, &length);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND || status == STATUS_OBJECT_PATH_NOT_FOUND) status = STATUS_ACCESS_DENIED;
    return complete(irp, status, length);
}

static NTSTATUS make(DRIVER_OBJECT *driver, const WCHAR *link, const WCHAR *folder) {
    static ULONG made;
    UNICODE_STRING name, other;
    static WCHAR own[WORDS], full[WORDS];
    DEVICE_OBJECT *object;
    NTSTATUS status;
    own[0] = full[0] = 0;
    add(own, L"\\Device\\StraddleTest");
    add_number(own, made++, 10, 1);
    add(full, L"\\DosDevices\\");
    add(full, link);
    RtlInitUnicodeString(&name, own);
    RtlInitUnicodeString(&other, full);
    status = IoCreateDevice(driver, sizeof(Device), &name, FILE_DEVICE_DISK, 0, FALSE, &object);
    if (status) return status;
    object->Flags |= DO_BUFFERED_IO;
    ((Device *)object->DeviceExtension)->folder[0] = 0;
    add(((Device *)object->DeviceExtension)->folder, folder);
    object->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    return IoCreateSymbolicLink(&other, &name);
}

/* A device for each line of a list, by the part of the line up to a tab. */
static NTSTATUS list(DRIVER_OBJECT *driver, BOOLEAN is_disks) {
    static char text[1 << 16];
    ULONG length, at = 0;
    const WCHAR *file = is_disks ? L"\\??\\C:\\answers\\disks" : L"\\??\\C:\\answers\\volumes";
    NTSTATUS status = read(file, 0, text, sizeof text, &length);
    if (status) return is_disks ? status : STATUS_SUCCESS;
    while (at < length) {
        static WCHAR link[WORDS], folder[WORDS], name[WORDS];
        ULONG count = 0;
        while (at < length && text[at] != '\n' && text[at] != '\t' && count < WORDS - 1) name[count++] = (WCHAR)text[at++];
        while (at < length && text[at++] != '\n') {}
        name[count] = 0;
        link[0] = folder[0] = 0;
        add(folder, L"\\??\\C:\\answers\\");
        if (is_disks) {
            add(link, L"PhysicalDrive");
            add(link, name);
            add(folder, L"disk\\");
            add(folder, name);
        } else {
            /* \\?\Volume{GUID}\ */
            if (count < 14) continue;
            name[count - 1] = 0;
            add(link, name + 4);
            name[count - 2] = 0;
            add(folder, L"volume\\");
            add(folder, name + 11);
        }
        add(folder, L"\\");
        status = make(driver, link, folder);
        if (status) return status;
    }
    return STATUS_SUCCESS;
}

NTSTATUS WINAPI DriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *path) {
    NTSTATUS status;
    driver->MajorFunction[IRP_MJ_CREATE] = opened;
    driver->MajorFunction[IRP_MJ_CLEANUP] = opened;
    driver->MajorFunction[IRP_MJ_CLOSE] = opened;
    driver->MajorFunction[IRP_MJ_READ] = reads;
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = asked;
    driver->MajorFunction[IRP_MJ_FILE_SYSTEM_CONTROL] = asked;
    driver->MajorFunction[IRP_MJ_QUERY_VOLUME_INFORMATION] = asked_of_volume;
    status = list(driver, TRUE);
    return status ? status : list(driver, FALSE);
}
