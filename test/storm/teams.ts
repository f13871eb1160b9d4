/** Sets up the people and the organizations of a storm. */
import { listModels } from "../../runner/src/engines/process/model-folder.ts";
import { Client } from "../../src/dev/client.ts";
import { publishModel, seed } from "../../src/dev/seed.ts";
import { DEFAULT_HARDWARE } from "../../src/protocol/hardware.ts";
import { newToken } from "../../src/protocol/operator.ts";
import {
  collaborator,
  newOrganizationInvitation,
  organization,
  type Role,
} from "../../src/protocol/organization.ts";
import { CALLERS, type Caller, PRIVATE } from "./plan/teams.ts";

/** @param ada the token of the owner of the public models @returns the token of each caller */
export async function makeTeams(
  url: string,
  operator: Client,
  ada: string,
  folder: string,
): Promise<Record<Caller, string>> {
  const [bob, cyd] = [await seed(operator, "bob"), await seed(operator, "cyd")];
  const people = {
    ada: new Client(url, ada),
    bob: new Client(url, bob.token),
    cyd: new Client(url, cyd.token),
  };
  for (const [username, owner] of [
    ["acme", "ada"],
    ["zeta", "cyd"],
  ]) {
    const body = { username, name: username, owner };
    await operator.call(organization, "POST", "/operator/organizations", { body });
  }
  const join = async (by: Client, role: Role) => {
    const invited = { body: { role, note: "" } };
    const path = "/organizations/acme/invitations";
    const { invitation } = await people.ada.call(newOrganizationInvitation, "POST", path, invited);
    await by.call(organization, "POST", "/user/organizations", { body: { invitation } });
  };
  await join(people.bob, CALLERS["bob@acme"].role);
  await join(people.cyd, CALLERS["cyd@acme"].role);
  const tokenOf = async (by: Client, name: keyof typeof PRIVATE, service_role?: Role) => {
    const body = { name: "storm", service_role };
    return (await by.call(newToken, "POST", `/organizations/${name}/tokens`, { body })).token;
  };
  const tokens = {
    ada,
    bob: bob.token,
    cyd: cyd.token,
    "ada@acme": await tokenOf(people.ada, "acme"),
    "bob@acme": await tokenOf(people.bob, "acme"),
    "cyd@acme": await tokenOf(people.cyd, "acme"),
    "service@acme": await tokenOf(people.ada, "acme", CALLERS["service@acme"].role),
    "cyd@zeta": await tokenOf(people.cyd, "zeta"),
  };
  const [acme, zeta] = [new Client(url, tokens["ada@acme"]), new Client(url, tokens["cyd@zeta"])];
  const all = await listModels(folder);
  for (const [name, owner] of [
    ["acme", acme],
    ["zeta", zeta],
  ] as const) {
    const found = all.find(({ manifest }) => manifest.name === PRIVATE[name]);
    if (!found) throw new Error(`there is no ${PRIVATE[name]}`);
    await publishModel(owner, name, found, DEFAULT_HARDWARE, "private");
  }
  const share = `/models/acme/${PRIVATE.acme}/collaborators/zeta`;
  await acme.call(collaborator, "PUT", share, { body: { level: "run" } });
  return tokens;
}
