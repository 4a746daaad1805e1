;; Loops that are too slow in C: picture, rooms, foe table, sprites.
        .module fast
        .include "tiles.inc"
        .globl  _S, _screen, _room_dist, _wall_look, _mt_tl, _mt_bl
HIDDEN  = 0x92                  ; high RAM, see lantern.h
ROWS    = 0x94                  ; loop counters
GROUPS  = 0x95
CELLS   = 0xC1A0                ; S.cells

        .area   _CODE
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

        ;; screen[] to black: all of it, or the HUD rows only.
_blank_screen::
        ld      c, #90
        jr      blank
_blank_hud::
        ld      c, #10
blank:  ld      hl, #_screen
        ld      a, #T_SPACE
1$:     ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        ld      (hl+), a
        dec     c
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

        .area   _DATA
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
