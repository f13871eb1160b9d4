/** Builds the [assets] of wrangler.toml, which have to exist when the Worker starts. */
export { buildAssets as default } from "../../../src/dev/assets.ts";
