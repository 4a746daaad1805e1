;; Start-up, interrupts and the copy loops that touch video RAM.
        .module crt0
        .include "tiles.inc"
        .globl  _main
        .globl  s__DATA
        .globl  l__DATA
        .globl  _bg_tiles, _bg_tiles_end, _obj_tiles, _obj_tiles_end
        .globl  _q_buf, _q_len
        .globl  _wall_look, _mt_tl, _mt_bl

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
ROWS    = 0x94                  ; loop counters of the routines below
GROUPS  = 0x95
CELLS   = 0xC1A0                ; S.cells

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

        ;; screen[] -> hidden map while the picture is on. Four bytes are fetched first,
        ;; then written within 15 cycles after STAT shows mode 0 or 1; the 20 cycles of
        ;; mode 2 that follow mode 0 are the slack. The stack pointer walks through
        ;; screen[]: an interrupt overwrites only what was read already.
        ;; The line interrupt is held off, it could eat the slack.
_copy_screen::
        ld      a, #0x01
        ldh     (0xFF), a
        ld      (_save_sp), sp
        ldh     a, (HIDDEN)
        ld      h, a
        ld      l, #0
        ld      sp, #_screen
        ld      a, #18
1$:     ldh     (ROWS), a
        ld      a, #5
2$:     ldh     (GROUPS), a
        pop     bc
        pop     de
3$:     ldh     a, (0x41)
        and     a, #0x02
        jr      nz, 3$
        ld      (hl), c
        inc     l
        ld      (hl), b
        inc     l
        ld      (hl), e
        inc     l
        ld      (hl), d
        inc     l
        ldh     a, (GROUPS)
        dec     a
        jr      nz, 2$
        ld      de, #12
        add     hl, de
        ldh     a, (ROWS)
        dec     a
        jr      nz, 1$
        ld      hl, #_save_sp
        ld      a, (hl+)
        ld      h, (hl)
        ld      l, a
        ld      sp, hl
        xor     a
        ldh     (0x0F), a
        ld      a, #0x03
        ldh     (0xFF), a
        ret

        ;; Walls everywhere, then the interior from the template: one bit per cell picks
        ;; a block or the next entry of the floor pattern. The picture of the cell at
        ;; 0xC1xx is kept at 0xC2xx.
_build_interior::
        ld      hl, #CELLS
        ld      de, #_wall_look
        ld      b, #80
1$:     ld      (hl), #1
        inc     h
        ld      a, (de)
        inc     de
        ld      (hl), a
        dec     h
        inc     l
        dec     b
        jr      nz, 1$
        ld      a, (_tmpl_ptr)
        ld      c, a
        ld      a, (_tmpl_ptr + 1)
        ld      b, a
        ld      a, (_floor_ptr)
        ld      e, a
        ld      a, (_floor_ptr + 1)
        ld      d, a
        ld      hl, #CELLS + 11
        ld      a, #6
2$:     ldh     (ROWS), a
        ld      a, (bc)
        inc     bc
        push    bc
        ld      c, a
        ld      b, #8
3$:     ld      a, (de)
        inc     de
        sla     c
        jr      c, 4$
        ld      (hl), #0
        inc     h
        ld      (hl), a
        jr      5$
4$:     inc     h               ; the cell is a wall already
        ld      a, (_block_look)
        ld      (hl), a
5$:     dec     h
        inc     l
        dec     b
        jr      nz, 3$
        inc     l
        inc     l
        pop     bc
        ldh     a, (ROWS)
        dec     a
        jr      nz, 2$
        ret

        ;; looks[80] -> screen[40..359]: two passes per row of cells. The four corner
        ;; tables lie in four ROM pages in a row, see tools/mkart.py.
_expand_room::
        ld      bc, #CELLS + 0x100
        ld      de, #_screen + 40
        ld      a, #8
1$:     ldh     (ROWS), a
        push    bc
        ld      l, #10
2$:     ld      a, (bc)
        inc     c
        push    hl
        ld      l, a
        ld      h, #>(_mt_tl)
        ld      a, (hl)
        ld      (de), a
        inc     de
        inc     h
        ld      a, (hl)
        ld      (de), a
        inc     de
        pop     hl
        dec     l
        jr      nz, 2$
        pop     bc
        ld      l, #10
3$:     ld      a, (bc)
        inc     c
        push    hl
        ld      l, a
        ld      h, #>(_mt_bl)
        ld      a, (hl)
        ld      (de), a
        inc     de
        inc     h
        ld      a, (hl)
        ld      (de), a
        inc     de
        pop     hl
        dec     l
        jr      nz, 3$
        ldh     a, (ROWS)
        dec     a
        jr      nz, 1$
        ret

        ;; Layout arrays of a floor to zero: doors, seen, content; room_dist, _dead, _tmpl.
_clear_floor::
        ld      hl, #_S + 48
        call    1$
        ld      hl, #_room_dist
1$:     ld      b, #12
        xor     a
2$:     ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        dec     b
        jr      nz, 2$
        ret

        ;; The HUD rows of screen[] to black.
_blank_hud::
        ld      hl, #_screen
        ld      bc, #(40 << 8) + T_SPACE
1$:     ld      (hl), c
        inc     l
        dec     b
        jr      nz, 1$
        ret

        ;; Walks the foe table: loads the next living entry after foe_at into f_kind...
        ;; and returns 1, or 0 at the end. C code is several times faster on fixed
        ;; addresses than through a pointer.
_next_foe::
        ld      a, (_foe_at)
        ld      h, #0xC1
1$:     add     a, #8
        cp      a, #0x90
        jr      z, 2$
        ld      l, a
        inc     (hl)            ; test for zero without losing a
        dec     (hl)
        jr      z, 1$
        ld      (_foe_at), a
        ld      de, #_f_kind
        call    copy8
        ld      a, #1
        ret
2$:     xor     a
        ret

_store_foe::
        ld      a, (_foe_at)
        ld      e, a
        ld      d, #0xC1
        ld      hl, #_f_kind
copy8:  ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        inc     de
        ld      a, (hl+)
        ld      (de), a
        ret

        ;; A 16 x 16 figure from two sprites: fig_y, fig_x, fig_tile, fig_attr to
        ;; the shadow OAM entry fig_at. Attribute bit 5 mirrors the figure.
_figure::
        ld      hl, #_fig_y
        ld      a, (hl+)
        add     a, #16
        ld      d, a
        ld      a, (hl+)
        add     a, #8
        ld      e, a
        ld      a, (hl+)
        ld      b, a
        ld      a, (hl+)
        ld      c, a
        ld      l, (hl)
        ld      h, #0xC0
        ld      (hl), d
        inc     l
        bit     5, c
        jr      nz, 1$
        ld      (hl), e
        inc     l
        ld      (hl), b
        inc     l
        ld      (hl), c
        inc     l
        ld      (hl), d
        inc     l
        ld      a, e
        add     a, #8
        ld      (hl+), a
        jr      2$
1$:     ld      a, e
        add     a, #8
        ld      (hl+), a
        ld      (hl), b
        inc     l
        ld      (hl), c
        inc     l
        ld      (hl), d
        inc     l
        ld      (hl), e
        inc     l
2$:     inc     b
        inc     b
        ld      (hl), b
        inc     l
        ld      (hl), c
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
_fig_y::
        .ds     1
_fig_x::
        .ds     1
_fig_tile::
        .ds     1
_fig_attr::
        .ds     1
_fig_at::
        .ds     1
_foe_at::                       ; low byte of the address of the current foe
        .ds     1
_f_kind::                       ; its copy
        .ds     1
_f_x::
        .ds     1
_f_y::
        .ds     1
_f_dir::
        .ds     1
_f_hp::
        .ds     1
_f_timer::
        .ds     1
_f_acc::
        .ds     1
_f_stun::
        .ds     1
_tmpl_ptr::
        .ds     2
_floor_ptr::
        .ds     2
_block_look::
        .ds     1
_save_sp:
        .ds     2
        .area   _INITIALIZED
        .area   _BSEG
        .area   _BSS
        .area   _HEAP
