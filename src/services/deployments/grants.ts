/** Grants: how many containers of each hardware class the deployments of an account may keep running. */
import { notFound } from "../../errors/errors.ts";
import type { CapacityGrant } from "../../protocol/deployment.ts";
import { listGrants, saveGrant } from "../../storage/deployments/grants.ts";
import { findHardware } from "../../storage/runners/hardware.ts";
import { getUser } from "../access/accounts.ts";
import { userTarget } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";

/** @throws ProblemError not_found */
export async function listGrantsOf(services: Services, username: string): Promise<CapacityGrant[]> {
  const { id } = await getUser(services, username);
  return grantsOf(services, id);
}

export const grantsOf = async ({ db }: Services, accountId: string): Promise<CapacityGrant[]> =>
  (await listGrants(db, accountId)).map(({ hardware_identifier: hardware, ...grant }) => ({
    hardware,
    ...grant,
  }));

/** Sets a grant. Claims above a lower one end within a minute, the newest deployments' first. @throws ProblemError not_found */
export async function setGrant(
  services: Services,
  username: string,
  hardware: string,
  instances: number,
): Promise<CapacityGrant> {
  const { db } = services;
  const user = await getUser(services, username);
  if (!(await findHardware(db, hardware))) throw notFound(`The hardware '${hardware}'`);
  const before = (await grantsOf(services, user.id)).find((grant) => grant.hardware === hardware);
  const entry = auditEntry({
    action: "capacity.granted",
    account_id: user.id,
    targets: [userTarget(user), { type: "hardware", id: hardware, name: hardware }],
    before: { instances: before?.instances ?? 0 },
    after: { instances },
  });
  const row = { account_id: user.id, hardware_identifier: hardware, instances };
  await saveGrant(db, row, entry);
  const saved = (await grantsOf(services, user.id)).find((grant) => grant.hardware === hardware);
  return saved ?? { hardware, instances, claimed: 0 };
}
