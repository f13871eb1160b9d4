/** Assets that pages of an earlier deployment request. */
import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readManifest } from "../../../src/services/assets.ts";
import { ORIGIN } from "../support/client.ts";

const get = (path: string) => exports.default.fetch(`${ORIGIN}${path}`, { redirect: "manual" });
const { files } = await readManifest(env);

test.each(["page", "style.css", "playground.webp"])(
  "a request for %s of an earlier deployment is redirected to the current file",
  async (name) => {
    const current = files[name] ?? "";
    const response = await get(current.replace(/-[A-Z0-9]{8}/, "-0LDHASH0"));
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe(current);
    expect(response.headers.get("cache-control")).toBe("no-store");
  },
);

test.each(["/assets/nothing-0LDHASH0.js", "/assets/page.js", "/assets/page-0LDHASH0.css"])(
  "a request for %s is a 404",
  async (path) => {
    expect((await get(path)).status).toBe(404);
  },
);
