/** A company from nothing: people who log in by groups, a model, a share, a removal, and the log that tells it. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, inject, it } from "vitest";
import { listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { Client } from "../../../src/dev/client.ts";
import { publishModel } from "../../../src/dev/seed.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import { OPERATOR_TOKEN } from "../../journey/support/access.ts";
import { CLIENT } from "../../oidc/person.ts";
import { OidcServer } from "../../oidc/provider.ts";
import { Reader } from "../support/reader.ts";
import { PASSWORD, Site } from "../support/site.ts";
import type { Visitor } from "../support/visitor.ts";

const GROUPS = { devs: "acme:developer", staff: "acme:member", lab: "lab:member" };
const PEOPLE = { pat: "devs", mia: "staff", otto: "lab" };

let provider: OidcServer;
let site: Site;

beforeAll(async () => {
  provider = await OidcServer.open(["http://localhost/"]);
  site = await Site.open(
    {
      SIGN_UP: "closed",
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.clientId,
      OIDC_CLIENT_SECRET: CLIENT.clientSecret,
      OIDC_NAME: "Acme",
      OIDC_DOMAINS: "acme.example",
      OIDC_GROUPS: JSON.stringify(GROUPS),
    },
    { models: false },
  );
  provider.redirectTo([`${site.url}/auth/callback/oidc`]);
  for (const [sub, group] of Object.entries(PEOPLE)) {
    const claims = { email: `${sub}@acme.example`, email_verified: true, preferred_username: sub };
    provider.people.set(sub, { sub, claims: { ...claims, name: sub, groups: [group] } });
  }
});
afterAll(async () => {
  await site.leave();
  await site.close();
  await provider.close();
});

/** Logs in with the provider for the first time. */
async function arrive(name: keyof typeof PEOPLE): Promise<[Visitor, Reader]> {
  const visitor = await site.visitor();
  visitor.goesTo(provider.issuer);
  const reader = await Reader.at(visitor, "/sign-in");
  await reader.press("Log in with Acme");
  await reader.press(name);
  await reader.press("Continue");
  await visitor.arrives("/");
  return [visitor, reader];
}

/** Publishes a model of the organization with a token that its developer has made. */
async function publish(token: string): Promise<void> {
  const folder = join(site.world.folder, "company");
  cpSync(inject("prepared").models, folder, { recursive: true });
  await site.world.runner("desk", { models: { owners: ["acme"], folder } });
  for (const found of await listModels(folder))
    if (["hello", "reciter"].includes(found.manifest.name))
      await publishModel(new Client(site.url, token), "acme", found, "cpu", "private");
}

it("a company sets up, publishes, shares and removes a member, and the audit log tells it all", async () => {
  const hopper = await site.visitor();
  const operator = await Reader.at(hopper, "/set-up");
  await operator.fill("Operator token", OPERATOR_TOKEN);
  await operator.fill("Username", "hopper");
  await operator.fill("Email", "hopper@acme.example");
  await operator.fill("Password", PASSWORD);
  await operator.press("Set up");
  await operator.reads("You are now an operator of this deployment");
  for (const name of ["acme", "lab"]) {
    await hopper.page.goto("/organizations");
    await operator.fill("Username", name);
    await operator.press("Create organization");
    await operator.sees("heading", name);
  }

  // Three people log in, each with a group of the provider.
  const [pat] = await arrive("pat");
  const [mia, asMia] = await arrive("mia");
  const [otto] = await arrive("otto");

  // The developer publishes a model of the organization.
  const asPat = await Reader.at(pat, "/organizations/acme/tokens");
  await asPat.unfold("New token");
  await asPat.fill("Name", "laptop");
  await asPat.tick("write");
  await asPat.press("Create token");
  const token = await asPat.copy("Copy token");
  await publish(token);

  // The member runs it. Who is in another group does not see it.
  await mia.page.goto("/organizations/acme/models/acme/hello");
  await asMia.fill("name", "Mia");
  await asMia.press(/^Run/);
  await asMia.reads("Hello, Mia!");
  await otto.open("/models/acme/hello", { status: 404 });

  // An owner shares it with the outsider, who runs it then.
  await hopper.page.goto("/organizations/acme/models/acme/hello/settings");
  const sharing = operator.in("region", "Sharing");
  await sharing.fill("Username", "otto");
  await sharing.press("Share");
  await operator.reads(/otto/);
  const asOtto = await Reader.at(otto, "/models/acme/hello");
  await asOtto.fill("name", "Otto");
  await asOtto.press(/^Run/);
  await asOtto.reads("Hello, Otto!");

  // The member is removed while the output of their run streams.
  await mia.page.goto("/organizations/acme/models/acme/reciter");
  await asMia.fill("Message", '["first", null]');
  await asMia.press("Send");
  await asMia.reads("first");
  mia.losesAccess();
  await hopper.page.goto("/organizations/acme/members");
  await operator.press("Remove mia");
  await operator.reads(/removed/);
  await asMia.reads(/^This prediction was deleted, or you no longer have access to it/);
  // The run belongs to the organization, and goes on.
  const developer = new Client(site.url, token);
  const { items } = await developer.call(pageOf(prediction), "GET", "/predictions");
  for (const { id } of items) await developer.fetch("POST", `/predictions/${id}/cancel`);

  // The audit log of the organization has it all, for its owner; that of the deployment also has who set it up.
  await hopper.open("/organizations/acme/audit");
  for (const words of [
    /hopper\s+An organization was created/,
    /pat\s+Someone joined an organization/,
    /pat\s+A version was published\s*acme\/hello:1/,
    /hopper\s+A model was shared with an account\s*otto/,
    /hopper\s+A member was removed, or left\s*mia/,
  ])
    await operator.sees("row", words);
  await hopper.open("/audit?verify=1");
  await operator.reads(/^Verified: none of the/);
  await operator.sees("row", /OPERATOR_TOKEN operator token\s+A user became an operator\s*hopper/);
  await operator.sees("row", /otto\s+An account was created/);
  await operator.sees("row", /otto@acme\.example\s+Someone logged in/);
});
