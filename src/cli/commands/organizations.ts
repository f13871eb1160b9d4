/** `auspex orgs` and `auspex switch`: the organizations of the user, and for which of them commands act. */
import { hostname } from "node:os";
import { z } from "zod";
import { messageOf, statusOf } from "../../../runner/src/lib/error.ts";
import { newToken } from "../../protocol/operator.ts";
import { organization, ownUser } from "../../protocol/organization.ts";
import { ownerName } from "../../protocol/user.ts";
import { type Credentials, chosenToken, loadCredentials, saveCredentials } from "../access.ts";
import { Failure, Misuse } from "../failure.ts";
import { Service } from "../service/service.ts";
import {
  type Host,
  newCommand,
  newServiceCommand,
  openService,
  openSession,
  type ServiceSession,
  type Session,
  showList,
} from "../session.ts";

export const organizations = z.array(organization);

export const orgsCommand = (host: Host) =>
  newServiceCommand("orgs", "List your organizations")
    .addHelpText("after", "\nTo act for one of them: auspex switch acme")
    .action(async (options) => {
      const session = await openService(host, options);
      const kept = await keptOf(session);
      const service = kept ? ownService(kept, session) : session.service;
      const items = await service.get("/organizations", organizations);
      const rows = items.map(({ username, role, name }) => [
        username,
        role,
        username === kept?.current ? "yes" : "",
        name,
      ]);
      showList(session, { head: ["ORGANIZATION", "ROLE", "CURRENT", "NAME"], rows, items });
    });

const MORE = `
Without an organization, switches back to your own account. Runs of an organization are at its expense, and
a model name without an owner is its model. The first switch creates a token for the organization.

  auspex switch acme
  auspex switch`;

export const switchCommand = (host: Host) =>
  newCommand("switch", "Act for an organization, or for yourself again")
    .argument("[organization]", "its username (default: your own account)")
    .addHelpText("after", MORE)
    .action(async (name, options) => {
      const session = openSession(host, options);
      if (host.environment.AUSPEX_TOKEN)
        throw new Misuse("AUSPEX_TOKEN is set and takes precedence. Unset it, then switch.");
      const kept = await loadCredentials(host.folders);
      if (!kept) throw new Misuse("Not logged in. Run auspex login first.");
      const isOwn = name === undefined || name === kept.username;
      const chosen = isOwn ? kept : await withToken(session, kept, name);
      await saveCredentials(host.folders, { ...chosen, current: isOwn ? undefined : name });
      const account = isOwn ? kept.username : name;
      session.output.result(`Commands now act as ${account} at ${kept.url}.`, {
        account,
        url: kept.url,
      });
    });

/** Returns the session that acts for an organization if `auspex login` was used and the user is a member. */
export async function actingFor(session: ServiceSession, owner: string): Promise<ServiceSession> {
  const kept = await keptOf(session);
  if (!kept) return session;
  const { organizations: mine } = await ownService(kept, session).get("/user", ownUser);
  if (!mine.some(({ username }) => username === owner)) return session;
  const saved = await withToken(session, kept, owner);
  await saveCredentials(session.folders, saved);
  const access = { url: kept.url, token: chosenToken({ ...saved, current: owner }) };
  return { ...session, access, service: new Service(access, session) };
}

/** Returns what `auspex login` has kept; undefined if options or variables say otherwise. */
async function keptOf({ access, folders }: ServiceSession): Promise<Credentials | undefined> {
  const kept = await loadCredentials(folders);
  return kept?.url === access.url && chosenToken(kept) === access.token ? kept : undefined;
}

const ownService = ({ url, token }: Credentials, session: Session) =>
  new Service({ url, token }, session);

/**
 * Returns the credentials with a token for an organization, which it creates unless there is one that works.
 * @throws Failure
 */
async function withToken(session: Session, kept: Credentials, name: string): Promise<Credentials> {
  const { url } = kept;
  const own = ownService(kept, session);
  const known = kept.organizations?.[name];
  if (known && (await accountOf(new Service({ url, token: known }, session))) === name) return kept;
  const user = await own.get("/user", ownUser);
  if (user.kind === "organization")
    throw new Failure(
      `You are logged in with a token of the organization ${ownerName(user)}. Log in with a token of your own account: auspex login ${url}`,
    );
  if (!user.organizations.some(({ username }) => username === name))
    throw new Failure(
      `You are not a member of ${name}, or your token is limited to some models. List your organizations with auspex orgs.`,
    );
  const body = { name: `auspex on ${hostname()}`.slice(0, 100) };
  const { token } = await own
    .post(`/organizations/${name}/tokens`, newToken, { body })
    .catch((error: unknown) => {
      if (statusOf(error) !== 403 && statusOf(error) !== 409) throw error;
      throw new Failure(
        `${messageOf(error)}\nCreate a token at ${url}/organizations/${name}, and log in with it: auspex login ${url}`,
      );
    });
  return { ...kept, organizations: { ...kept.organizations, [name]: token } };
}

/** Returns the account of a token; undefined if the token has ended. */
const accountOf = (service: Service): Promise<string | undefined> =>
  service.get("/user", ownUser).then(ownerName, (error: unknown) => {
    if (statusOf(error) !== 401) throw error;
    return undefined;
  });
