/** As what a file is served: types that a browser shows, and none that it runs. */

/** One type, with parameters. Of several, with commas, a browser takes the last. */
const ONE = /^[\w.+-]+\/[\w.+-]+ *(?:;[^,]*)?$/;

/**
 * What a page may run or build itself of, whatever name it goes by: `text/javascript1.5`,
 * `application/x-ecmascript`, `text/css`, `application/xhtml+xml`, `application/wasm`.
 */
const RUN = /^[^;]*(?:script|css|html|xml|xsl|wasm|multipart)/i;

/** In an <img> its scripts do not run, and opened by itself it is a download. */
const SVG = /^image\/svg\+xml *(?:;|$)/i;

const OPAQUE = "application/octet-stream";

/** Its own type, or for what can be run one that nobody runs: it would come from our own address. */
export const servedType = (mimeType: string): string =>
  ONE.test(mimeType) && (SVG.test(mimeType) || !RUN.test(mimeType)) ? mimeType : OPAQUE;

/**
 * Whether it may be opened in a tab. All else is a download: a page that somebody has uploaded must
 * not become one of this address. What ends in +xml is a page whatever it begins with.
 */
export const isInline = (mimeType: string): boolean =>
  SHOWN.test(mimeType) && servedType(mimeType) === mimeType;

const SHOWN =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|(?:audio|video)\/[\w.-]+|text\/plain|application\/json) *(?:;[^,]*)?$/i;
