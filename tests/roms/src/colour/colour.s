;; "Colour" cartridge: a Game Boy Color picture that stands still, 32 colours in lines one pixel wide.
;; Column c of tiles uses palette c & 7; the four colours of a palette stand side by side in every tile.
        .module colour
        .area   _HEADER (ABS)
        .org    0x0100
        nop
        jp      start

        .org    0x0150
start:  di
        ld      sp, #0xDFFE
1$:     ldh     a, (0x44)               ; the LCD may be switched off in vertical blank only
        cp      #144
        jr      nz, 1$
        xor     a
        ldh     (0x40), a

        ldh     (0x4F), a               ; VRAM bank 0: tile 0 shows colours 0 1 2 3 0 1 2 3 in each line
        ld      hl, #0x8000
        ld      b, #8
2$:     ld      a, #0x55                ; low bits
        ld      (hl+), a
        ld      a, #0x33                ; high bits
        ld      (hl+), a
        dec     b
        jr      nz, 2$

        ld      hl, #0x9800             ; the whole map is tile 0
        ld      bc, #0x400
3$:     xor     a
        ld      (hl+), a
        dec     bc
        ld      a, b
        or      c
        jr      nz, 3$

        ld      a, #1                   ; VRAM bank 1: attributes, the palette is the column's number
        ldh     (0x4F), a
        ld      hl, #0x9800
        ld      bc, #0x400
4$:     ld      a, l
        and     #7
        ld      (hl+), a
        dec     bc
        ld      a, b
        or      c
        jr      nz, 4$
        xor     a
        ldh     (0x4F), a

        ld      a, #0x80                ; palettes: from byte 0 on, counting up
        ldh     (0x68), a
        ld      hl, #palettes
        ld      b, #64
5$:     ld      a, (hl+)
        ldh     (0x69), a
        dec     b
        jr      nz, 5$

        xor     a                       ; no scrolling
        ldh     (0x42), a
        ldh     (0x43), a
        ld      a, #0x91                ; LCD on, tiles at 0x8000, map at 0x9800, background on
        ldh     (0x40), a
6$:     halt
        nop
        jr      6$

palettes:                               ; 15-bit blue green red; eight palettes of four colours
        .dw     0x001F, 0x03E0, 0x7C00, 0x7FFF   ; red, green, blue, white
        .dw     0x0010, 0x0200, 0x4000, 0x4210   ; the same at half brightness
        .dw     0x03FF, 0x7FE0, 0x7C1F, 0x0000   ; yellow, cyan, magenta, black
        .dw     0x001F, 0x000F, 0x0007, 0x0003   ; reds
        .dw     0x03E0, 0x01E0, 0x00E0, 0x0060   ; greens
        .dw     0x7C00, 0x3C00, 0x1C00, 0x0C00   ; blues
        .dw     0x11D3, 0x2A95, 0x4B57, 0x6C19   ; mixtures
        .dw     0x7BDE, 0x5AD6, 0x39CE, 0x18C6   ; greys

        .area   _CODE
        .area   _DATA
