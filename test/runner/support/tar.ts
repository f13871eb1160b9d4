/** Writes archives, also malformed ones. */

const TYPES = {
  file: "0",
  link: "1",
  symlink: "2",
  "character-device": "3",
  "block-device": "4",
  directory: "5",
  fifo: "6",
  "gnu-long-path": "L",
} as const;

export interface TarEntry {
  name: string;
  type?: keyof typeof TYPES;
  linkname?: string;
  content?: Buffer;
  /** The size in the header, if it differs from the content's. */
  size?: number;
}

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;

export function tarHeader({ name, type = "file", linkname = "", content, size }: TarEntry): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(size ?? content?.length ?? 0, 11), 124);
  header.write(octal(0, 11), 136);
  header.fill(" ", 148, 156);
  header.write(TYPES[type], 156);
  header.write(linkname, 157, 100);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}

export function tar(entries: TarEntry[]): Buffer {
  const pieces = entries.flatMap((entry) => {
    const { content = Buffer.of() } = entry;
    return [tarHeader(entry), content, Buffer.alloc(-content.length & 511)];
  });
  return Buffer.concat([...pieces, Buffer.alloc(1_024)]);
}
