/*
 * A process that sends itself signals while it has a number in a floating point register, in which their handler leaves
 * another one: prints how often that was found afterwards. Of lab.rs, for what fp-registers.c leaves out.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURNS = 1000 };

static volatile sig_atomic_t handled;

static void handler(int signal)
{
	uint64_t another = ~UINT64_C(0);

	handled += signal == SIGUSR1;
	__asm__ volatile("movq %0, %%xmm7" : : "r"(another) : "xmm7");
}

int main(void)
{
	int lost = 0;

	if (signal(SIGUSR1, handler) == SIG_ERR)
		return 1;
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		long call = SYS_kill;
		uint64_t got;

		__asm__ volatile("movq %2, %%xmm7\n\tsyscall\n\tmovq %%xmm7, %0"
				 : "=&r"(got), "+a"(call)
				 : "r"(turn), "D"((long)getpid()), "S"((long)SIGUSR1)
				 : "rcx", "r11", "xmm7", "memory");
		lost += got != turn;
	}
	printf("%d signals, %d registers lost\n", (int)handled, lost);
	return 0;
}
