/** Builds what wrangler.toml's [assets] names: it has to be there when the Worker starts. */
export { buildAssets as default } from "../../../src/dev/assets.ts";
