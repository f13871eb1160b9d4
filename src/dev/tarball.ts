/** A tarball of a few small files (ustar, gzip) whose bytes depend on nothing but them. */
import { gzipSync } from "node:zlib";

/** Paths with their content. */
export type Files = [path: string, content: string][];

const BLOCK = 512;
/** As npm dates what it packs: 1985-10-26T08:15:00Z, in seconds. */
const MTIME = 499_162_500;
const MODE = 0o644;

/** @param folder in which they are; with it a path has 99 ASCII characters at most */
export function tarball(folder: string, files: Files): Buffer {
  const blocks = files.flatMap(([path, content]) => {
    const bytes = Buffer.from(content);
    return [
      header(`${folder}/${path}`, bytes.length),
      bytes,
      Buffer.alloc(-bytes.length & (BLOCK - 1)),
    ];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}

function header(path: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(path, 0);
  block.write(octal(MODE, 7) + octal(0, 7) + octal(0, 7), 100);
  block.write(octal(size, 11) + octal(MTIME, 11), 124);
  // The checksum is that of a header with spaces in its place.
  block.write(" ".repeat(8), 148);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte);
  block.write(`${octal(sum, 6)} `, 148);
  return block;
}
