#!/bin/sh
# Builds ../../flash.gba. Debian packages: gcc-arm-none-eabi binutils-arm-none-eabi python3
set -eu
cd "$(dirname "$0")"
O=$(mktemp -d)
trap 'rm -rf "$O"' EXIT
arm-none-eabi-gcc -mcpu=arm7tdmi -marm -c crt0.s -o "$O/crt0.o"
arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -O2 -std=c11 -Wall -Wextra -ffreestanding -c main.c -o "$O/main.o"
arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -nostdlib -Wl,--build-id=none -Wl,-T,flash.ld \
    "$O/crt0.o" "$O/main.o" -lgcc -o "$O/flash.elf"
arm-none-eabi-objcopy -O binary "$O/flash.elf" "$O/flash.bin"
python3 gbafix.py "$O/flash.bin" ../../flash.gba FLASHTEST PFLE 00
