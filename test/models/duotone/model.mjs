// Turns a picture into two colors: a file in, a file out.

import sharp from "sharp";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

/** A picture of a few kilobytes may declare dimensions that do not fit into memory. */
const MAX_PIXELS = 50_000_000;
const MAX_BYTES = 50_000_000;

serve(manifest, {
  async predict({ image, dark, light, width }, { signal, log, metric }) {
    const answer = await fetch(image, { signal }).catch(({ message, cause }) => {
      signal.throwIfAborted();
      // `message` is only "fetch failed"; the cause has the reason.
      throw new Error(`Cannot read the image: ${cause?.message ?? message}`);
    });
    if (!answer.ok) throw new Error(`Cannot read the image: ${answer.status}`);
    if (Number(answer.headers.get("content-length")) > MAX_BYTES)
      throw new Error("The image is larger than 50 MB");
    const picture = sharp(await answer.arrayBuffer(), { limitInputPixels: MAX_PIXELS });
    const { data, info } = await picture
      .autoOrient()
      .resize({ width, withoutEnlargement: true })
      .flatten({ background: light })
      .greyscale()
      .normalise()
      .raw()
      .toBuffer({ resolveWithObject: true });
    log(`${info.width} x ${info.height} pixels`);
    metric("pixels", info.width * info.height);
    const raw = { width: info.width, height: info.height, channels: 3 };
    const png = await sharp(between(data, info.channels, rgb(dark), rgb(light)), { raw })
      .png({ palette: false })
      .toBuffer();
    return new File([png], "duotone.png", { type: "image/png" });
  },
});

/** Maps each gray between black and white to the color as far between the two colors. */
function between(grey, channels, dark, light) {
  const shades = Array.from({ length: 256 }, (_, level) =>
    dark.map((from, n) => Math.round(from + ((light[n] - from) * level) / 255)),
  );
  const pixels = Buffer.alloc((grey.length / channels) * 3);
  for (let at = 0, to = 0; at < grey.length; at += channels, to += 3) {
    pixels.set(shades[grey[at]], to);
  }
  return pixels;
}

const rgb = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
