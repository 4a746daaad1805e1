@ Start-up code (GNU as, ARM mode).
        .syntax unified
        .arm
        .section .crt0, "ax", %progbits
        .global _start
        .global restart_jump
_start:
        b       reset
        .space  0xC0 - 4, 0             @ header, filled in by tools/gbafix.py

reset:
        msr     cpsr_c, #0xD2           @ IRQ mode, interrupts off
        ldr     sp, =0x03007FA0
        msr     cpsr_c, #0x1F           @ system mode

        ldr     r0, =irq_entry
        ldr     r1, =0x03007FFC
        str     r0, [r1]

        ldr     r0, =__data_start       @ .data and RAM code, ROM -> IWRAM
        ldr     r1, =__data_end
        ldr     r2, =__data_load
1:      cmp     r0, r1
        ldrlo   r3, [r2], #4
        strlo   r3, [r0], #4
        blo     1b
        ldr     r4, =main
        b       clear

@ A restart may come from any depth of calls: throw the stack away, clear all variables outside
@ the state block, and begin again.
        .type   restart_jump, %function  @ lets Thumb callers switch to ARM
restart_jump:
        ldr     r4, =restart_main
clear:
        ldr     sp, =0x03007F00
        ldr     r0, =__bss_start
        ldr     r1, =__bss_end
        mov     r3, #0
2:      cmp     r0, r1
        strlo   r3, [r0], #4
        blo     2b
        mov     lr, pc
        bx      r4
3:      b       3b
        .pool

@ Called by the BIOS in ARM/IRQ mode with r0-r3, r12, lr saved.
@ Acknowledge everything and tell IntrWait about it.
irq_entry:
        mov     r0, #0x04000000
        ldr     r1, [r0, #0x200]        @ IE low half, IF high half
        and     r1, r1, r1, lsr #16
        add     r2, r0, #0x200
        strh    r1, [r2, #2]            @ IF = handled bits
        ldr     r2, =0x03007FF8
        ldrh    r3, [r2]
        orr     r3, r3, r1
        strh    r3, [r2]
        bx      lr
        .pool
