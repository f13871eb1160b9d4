// PNG, as far as it is needed: writes true color, and reads 8-bit pictures that are not interlaced.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** The number of channels by color type. */
const CHANNELS = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const MAX_PIXELS = 16_000_000;

/** @typedef {{ width: number, height: number, pixels: Uint8Array }} Picture with 4 bytes for each pixel */

/** @param {Picture} picture without its transparency */
export function encode({ width, height, pixels }) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const length = width * 3 + 1;
  const lines = Buffer.alloc(length * height);
  for (let y = 0; y < height; y++) {
    // Differences to the pixel on the left, which are small where colors flow.
    lines[y * length] = 1;
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < 3; c++) {
        const at = (y * width + x) * 4 + c;
        lines[y * length + 1 + x * 3 + c] = pixels[at] - (x > 0 ? pixels[at - 4] : 0);
      }
    }
  }
  const data = deflateSync(lines);
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("IDAT", data), chunk("IEND", [])]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), Buffer.from(data)]);
  const all = Buffer.alloc(body.length + 8);
  all.writeUInt32BE(data.length, 0);
  all.set(body, 4);
  all.writeUInt32BE(crc32(body), body.length + 4);
  return all;
}

/** @returns {Picture} */
export function decode(bytes) {
  const file = Buffer.from(bytes);
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new Error("The image is not a PNG");
  const parts = {};
  for (let at = 8; at + 12 <= file.length; at += 12 + file.readUInt32BE(at)) {
    const type = file.toString("latin1", at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + file.readUInt32BE(at));
    parts[type] = [...(parts[type] ?? []), data];
  }
  const [head] = parts.IHDR ?? [];
  if (!head || !parts.IDAT) throw new Error("The PNG is incomplete");
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const [depth, type, , , interlaced] = head.subarray(8);
  const channels = CHANNELS[type];
  if (depth !== 8 || interlaced || !channels)
    throw new Error("Unsupported PNG. Use 8 bits per channel, without interlacing");
  if (width * height > MAX_PIXELS) throw new Error("The image has more than 16 million pixels");
  const length = width * channels;
  const lines = inflateSync(Buffer.concat(parts.IDAT), { maxOutputLength: (length + 1) * height });
  const raw = unfiltered(lines, { length, height, channels });
  return { width, height, pixels: rgba(raw, type, parts) };
}

function unfiltered(lines, { length, height, channels }) {
  const raw = new Uint8Array(length * height);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x >= channels ? raw[at - channels] : 0;
      const above = y > 0 ? raw[at - length] : 0;
      const corner = x >= channels && y > 0 ? raw[at - length - channels] : 0;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      raw[at] = lines[y * (length + 1) + 1 + x] + guess;
    }
  }
  return raw;
}

function paeth(left, above, corner) {
  const [a, b, c] = [left, above, corner].map((one) => Math.abs(left + above - corner - one));
  if (a <= b && a <= c) return left;
  return b <= c ? above : corner;
}

function rgba(raw, type, { PLTE: [palette] = [], tRNS: [alphas] = [] }) {
  const channels = CHANNELS[type];
  const pixels = new Uint8Array((raw.length / channels) * 4);
  for (let from = 0, to = 0; from < raw.length; from += channels, to += 4) {
    const gray = raw[from];
    if (type === 3)
      pixels.set([...palette.subarray(gray * 3, gray * 3 + 3), alphas?.[gray] ?? 255], to);
    else if (channels < 3) pixels.set([gray, gray, gray, channels === 2 ? raw[from + 1] : 255], to);
    else pixels.set([gray, raw[from + 1], raw[from + 2], channels === 4 ? raw[from + 3] : 255], to);
  }
  return pixels;
}
