/** A login from a terminal, approved in a browser. */
import { afterAll, afterEach, beforeAll, it } from "vitest";
import { DEVICE_AUTHORIZATION, deviceAuthorization } from "../../src/protocol/device-login.ts";
import { Site, signUp } from "./support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a login from a terminal is approved with its code, or denied", async () => {
  const visitor = await site.visitor();
  const { page } = visitor;
  await signUp(visitor, "radia");
  const begin = async () => {
    const body = new URLSearchParams({ client_id: "auspex", device_name: "radia-laptop" });
    const begun = await fetch(site.url + DEVICE_AUTHORIZATION, { method: "POST", body });
    return deviceAuthorization.parse(await begun.json()).user_code;
  };
  const enter = async (code: string) => {
    await visitor.open("/device");
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Continue" }).click();
  };
  visitor.expects(404, "/device");
  await enter("BCDF-GHJK");
  await page.getByText("It is wrong, has expired or was used.").waitFor();
  await visitor.look();
  const code = await begin();
  await enter(code.toLowerCase());
  await page.getByText(code, { exact: true }).waitFor();
  await visitor.look();
  await visitor.narrow();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Login approved.").waitFor();
  await visitor.arrives("/tokens");
  await enter(await begin());
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Login denied.").waitFor();
});
