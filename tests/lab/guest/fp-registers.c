/*
 * Lets Debian 12's linux.uml run on processors with AVX-512, AMX or protection keys.
 *
 * User-Mode Linux restores the floating point registers of its processes with PTRACE_SETREGSET and a buffer of fixed
 * size, made for the registers of AVX. Where the processor has more, the host kernel wants the whole area and answers
 * EFAULT: "ptrace set fp regs failed, errno = 14". Preloaded, this reads the whole area first, lays what the guest
 * gave over its beginning, and writes the whole area back. On other processors it changes nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The largest area that is known (AMX) has 11,008 bytes. */
static unsigned char area[1 << 16] __attribute__((aligned(64)));

static long set_extended_state(pid_t pid, void *type, const struct iovec *given)
{
	struct iovec whole = { area, sizeof area };

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, type, &whole) < 0)
		return -1;
	memcpy(area, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, type, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list rest;
	pid_t pid;
	void *address, *data;
	long word, result;

	va_start(rest, request);
	pid = va_arg(rest, pid_t);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);

	switch (request) {
	case PTRACE_SETREGSET:
		if ((long)address == NT_X86_XSTATE)
			return set_extended_state(pid, address, data);
		break;
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
		/* The system call stores the word; the C library's function, which this replaces, returns it. */
		result = syscall(SYS_ptrace, request, pid, address, &word);
		if (result < 0)
			return result;
		errno = 0;
		return word;
	default:
		break;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
