/** Assets that pages of an earlier deployment ask for. */
import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readManifest } from "../../../src/services/assets.ts";
import { ORIGIN } from "../support/client.ts";

const get = (path: string) => exports.default.fetch(`${ORIGIN}${path}`, { redirect: "manual" });
const { files } = await readManifest(env);

test.each(["page", "style.css", "playground.webp"])(
  "%s of an earlier one is what it is now",
  async (name) => {
    const current = files[name] ?? "";
    const response = await get(current.replace(/-[A-Z0-9]{8}/, "-0LDHASH0"));
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe(current);
    expect(response.headers.get("cache-control")).toBe("no-store");
  },
);

test.each(["/assets/nothing-0LDHASH0.js", "/assets/page.js", "/assets/page-0LDHASH0.css"])(
  "there is no %s",
  async (path) => {
    expect((await get(path)).status).toBe(404);
  },
);
