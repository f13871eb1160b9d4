/** Members who use up what one person may have. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { OrganizationInvitation } from "../../../src/protocol/organization.ts";
import type { Client } from "../support/client.ts";
import { newOrganization, type Organization, setRole } from "../support/organizations.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(startClock);

const pathOf = ({ username }: Organization) => `/v1/organizations/${username}`;

test("invitations of a former admin do not keep others from inviting", async () => {
  const organization = await newOrganization();
  const [owner, admin] = [await organization.join("owner"), await organization.join("admin")];
  const path = `${pathOf(organization)}/invitations`;
  const invite = async ({ own }: { own: Client }) =>
    (await own.json("POST", path, { role: "member" })).status;
  for (let n = 0; n < 100; n++) expect(await invite(admin)).toBe(200);
  expect(await invite(owner)).toBe(409);
  await setRole(organization, admin, undefined);
  expect(await owner.own.ok<OrganizationInvitation[]>("GET", path)).toEqual([]);
  expect(await invite(owner)).toBe(200);
});

test("a member who creates all the tokens they can leaves room for those of others", async () => {
  const organization = await newOrganization();
  const [owner, member] = [await organization.join("owner"), await organization.join("member")];
  const path = `${pathOf(organization)}/tokens`;
  const create = async ({ own }: { own: Client }, body: object = {}) =>
    (await own.json("POST", path, { name: "x", ...body })).status;
  let created = 0;
  while ((await create(member)) === 200) created++;
  expect(created).toBe(99);
  expect(await create(member)).toBe(409);
  expect(await create(owner)).toBe(200);
  expect(await create(owner, { service_role: "member" })).toBe(200);
});
