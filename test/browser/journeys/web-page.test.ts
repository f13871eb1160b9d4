/** The example of the guide "Call from a web page": its own server and page, in a browser. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { ROOT } from "../../../src/dev/bundle.ts";
import { freePort } from "../../processes/free-port.ts";
import { OPERATOR, Site } from "../support/site.ts";

let site: Site;
let folder: string;
let server: ChildProcess;
let page: string;

/** Returns the code of the guide's only block in a language with these first words. */
const blockOf = (guide: string, language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(guide)?.[1] ?? expect.fail();

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
  const guide = await readFile(join(ROOT, "src/dashboard/guides/web-pages.md"), "utf8");
  folder = await mkdtemp(join(tmpdir(), "auspex-web-page-"));
  await writeFile(join(folder, "server.mjs"), blockOf(guide, "js no-run"));
  await writeFile(join(folder, "index.html"), blockOf(guide, "html"));
  const port = await freePort();
  page = `http://localhost:${port}`;
  server = spawn(process.execPath, ["server.mjs"], {
    cwd: folder,
    env: {
      AUSPEX_URL: site.url,
      AUSPEX_TOKEN: await site.tokenOf(OPERATOR),
      MODEL: `${OPERATOR}/text-generation`,
      PORT: String(port),
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  await vi.waitFor(async () => expect((await fetch(page)).status).toBe(200));
});
afterEach(() => site.leave());
afterAll(async () => {
  server.kill();
  await rm(folder, { recursive: true });
  await site.close();
});

it("the page of the guide runs the model with a client token, and shows the output as it arrives", async () => {
  const visitor = await site.visitor({ axe: true });
  visitor.goesTo(page);
  await visitor.page.goto(page);
  await visitor.page.getByRole("button", { name: "Run" }).click();
  const output = visitor.page.getByRole("status");
  await vi.waitFor(async () => expect((await output.textContent())?.length).toBeGreaterThan(20));
  await visitor.page.waitForLoadState("networkidle");
  await visitor.look();
});

it("the same page on another origin is refused, and says why", async () => {
  const visitor = await site.visitor();
  const other = page.replace("localhost", "127.0.0.1");
  visitor.goesTo(other);
  visitor.expects(403, "/v1/predictions");
  await visitor.page.goto(other);
  await visitor.page.getByRole("button", { name: "Run" }).click();
  const refused = `can only be used by web pages of ${page}, and this request comes from ${other}`;
  await visitor.page.getByText(refused).waitFor();
  await visitor.look();
});
