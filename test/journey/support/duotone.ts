/** The expected picture of the example `duotone`, computed here. */
import { join } from "node:path";
import sharp from "sharp";
import { ROOT } from "../../../src/dev/bundle.ts";

export const SAMPLE = join(ROOT, "test/models/duotone/sample.jpg");

interface Pixels {
  width: number;
  height: number;
  /** Three bytes a pixel. */
  data: Buffer;
}

export async function pixelsOf(png: Buffer): Promise<Pixels> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/** Computes the picture. The colours are in the form #rrggbb; the width is in pixels. */
export async function duotone(
  image: Buffer,
  { dark, light, width }: { dark: string; light: string; width: number },
): Promise<Pixels> {
  const { data: grey, info } = await sharp(image)
    .resize({ width, withoutEnlargement: true })
    .greyscale()
    .normalise()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const [from, to] = [rgb(dark), rgb(light)];
  const data = Buffer.alloc(info.width * info.height * 3);
  for (let pixel = 0; pixel < info.width * info.height; pixel++) {
    const level = grey[pixel * info.channels] ?? 0;
    for (const n of [0, 1, 2]) {
      const [a, b] = [from[n] ?? 0, to[n] ?? 0];
      data[pixel * 3 + n] = Math.round(a + ((b - a) * level) / 255);
    }
  }
  return { width: info.width, height: info.height, data };
}

const rgb = (colour: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
