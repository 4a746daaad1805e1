;; Start-up, interrupts, fixed addresses.
        .module crt0
        .globl  _main
        .globl  s__DATA
        .globl  l__DATA
        .globl  _bg_tiles, _bg_tiles_end, _obj_tiles, _obj_tiles_end
        .globl  _q_buf, _q_len

        ;; fixed addresses of the memory contract
        .globl  _S, _oam, _screen, _looks, _room_dist, _room_dead, _room_tmpl
_oam    = 0xC000
_S      = 0xC100
_room_dist = 0xC200             ; private to the game, see private.h
_room_dead = 0xC210
_room_tmpl = 0xC220
_looks  = 0xC2A0
_screen = 0xD000
FLIP    = 0x91                  ; high RAM, see lantern.h
HIDDEN  = 0x92
SHOWN   = 0x93

        .area   _HEADER (ABS)
        .org    0x0040          ; VBlank
        jp      vbl_isr
        .org    0x0048          ; STAT: line 1 reached, one game step is due
        jp      lyc_isr
        .org    0x0050
        reti
        .org    0x0058
        reti
        .org    0x0060
        reti

        .org    0x0100
        nop
        jp      start
        ;; 0x0104-0x0133 logo area stays zero, 0x0134-0x014F: tools/gbfix.py

        .org    0x0150
start:
        di
        ld      sp, #0xE000
        ld      hl, #0xC000     ; all 8 KiB of work RAM
        ld      bc, #0x2000
1$:     xor     a
        ld      (hl+), a
        dec     bc
        ld      a, b
        or      c
        jr      nz, 1$
        ld      hl, #dma_code   ; OAM DMA must run from high RAM
        ld      c, #0x80
        ld      b, #(dma_end - dma_code)
2$:     ld      a, (hl+)
        ldh     (c), a
        inc     c
        dec     b
        jr      nz, 2$
        xor     a
        ldh     (FLIP), a
        ld      a, #0x98
        ldh     (SHOWN), a
        ld      a, #0x9C
        ldh     (HIDDEN), a
        jp      _main

dma_code:
        ld      a, #0xC0
        ldh     (0x46), a
        ld      a, #0x28
3$:     dec     a
        jr      nz, 3$
        ret
dma_end:

lyc_isr:
        push    af
        ld      a, #1
        ld      (_tick_flag), a
        pop     af
        reti

        ;; All periodic video writes happen here: sprites, map flip, queued tiles.
vbl_isr:
        push    af
        push    bc
        push    de
        push    hl
        call    0xFF80
        ldh     a, (FLIP)
        or      a
        jr      z, 1$
        ldh     (0x40), a
        xor     a
        ldh     (FLIP), a
1$:     ld      a, (_q_len)
        or      a
        jr      z, 3$
        ld      b, a
        ld      hl, #_q_buf
2$:     ld      a, (hl+)
        ld      e, a
        ld      a, (hl+)
        ld      d, a
        ld      a, (hl+)
        ld      (de), a
        dec     b
        jr      nz, 2$
        xor     a
        ld      (_q_len), a
3$:     pop     hl
        pop     de
        pop     bc
        pop     af
        reti

        .area   _HOME
        .area   _CODE

        ;; Shadow OAM, state block, private room data and all C variables to zero.
        ;; The stack and the high RAM bytes stay.
_clear_ram::
        ld      hl, #0xC000
        ld      c, #0x30        ; 0xC000-0xC2FF in steps of 16
        call    1$
        ld      hl, #s__DATA
        ld      c, #0x10        ; at most 256 bytes, checked by the build
1$:     xor     a
2$:     ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        dec     c
        jr      nz, 2$
        ret

        ;; With the LCD off: background tiles 0-127 at 0x9000, 128-255 at 0x8800,
        ;; sprite tiles at 0x8000.
_load_tiles::
        ld      hl, #0x9000
        ld      de, #_bg_tiles
1$:     ld      a, (de)
        inc     de
        ld      (hl+), a
        ld      a, h
        cp      a, #0x98
        jr      nz, 2$
        ld      h, #0x88
2$:     ld      a, d
        cp      a, #>(_bg_tiles_end)
        jr      nz, 1$
        ld      a, e
        cp      a, #<(_bg_tiles_end)
        jr      nz, 1$
        ld      hl, #0x8000
        ld      de, #_obj_tiles
3$:     ld      a, (de)
        inc     de
        ld      (hl+), a
        ld      a, d
        cp      a, #>(_obj_tiles_end)
        jr      nz, 3$
        ld      a, e
        cp      a, #<(_obj_tiles_end)
        jr      nz, 3$
        ret

        ;; fixes the order of the relocatable areas
        .area   _INITIALIZER
        .area   _GSINIT
        .area   _GSFINAL
        .area   _DATA
_tick_flag::
        .ds     1
        .area   _INITIALIZED
        .area   _BSEG
        .area   _BSS
        .area   _HEAP
