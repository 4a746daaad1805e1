@ Start-up code (GNU as, ARM mode).
        .syntax unified
        .arm
        .section .crt0, "ax", %progbits
        .global _start
_start:
        b       reset
        .space  0xC0 - 4, 0             @ header, filled in by gbafix.py

reset:
        msr     cpsr_c, #0xD2           @ IRQ mode, interrupts off
        ldr     sp, =0x03007FA0
        msr     cpsr_c, #0x1F           @ system mode
        ldr     sp, =0x03007E00
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
        ldr     r0, =__bss_start
        ldr     r1, =__bss_end
        mov     r3, #0
2:      cmp     r0, r1
        strlo   r3, [r0], #4
        blo     2b
        ldr     r0, =main
        mov     lr, pc
        bx      r0
3:      b       3b
        .pool

@ Called by the BIOS in IRQ mode: acknowledge everything, note the vertical blank.
irq_entry:
        mov     r0, #0x04000000
        ldr     r1, [r0, #0x200]        @ IE low half, IF high half
        and     r1, r1, r1, lsr #16
        add     r2, r0, #0x200
        strh    r1, [r2, #2]
        ldr     r2, =blank
        str     r1, [r2]
        bx      lr
        .pool
