@ Start-up code of the flash test cartridge (GNU as, ARM mode).
        .syntax unified
        .arm
        .section .crt0, "ax", %progbits
        .global _start
_start:
        b       reset
        .space  0xE0 - 4, 0             @ header, then the clock's port at 0xC4-0xC9, which must hold no code
reset:
        msr     cpsr_c, #0x1F           @ system mode, no interrupts are used
        ldr     sp, =0x03007F00
        ldr     r0, =main
        mov     lr, pc
        bx      r0
1:      b       1b
        .pool
