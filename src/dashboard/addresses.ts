/**
 * The pages of an account. One's own are at `/predictions`, `/models`, `/account/usage` and so on. Those of an
 * organization are the same routes below `/organizations/{organization}`, without `/account`: there, the viewer's
 * caller acts for the organization, and links and redirects of the page stay with it.
 */
import { createMiddleware } from "hono/factory";
import {
  organizationNotFound,
  requireSecondFactor,
  requireUnsuspended,
} from "../services/accounts/organizations.ts";
import type { Membership } from "../services/sign-in/sessions.ts";
import { findOrganization } from "../storage/accounts/organizations.ts";
import type { UserRow } from "../storage/accounts/users.ts";
import { requireUser } from "./access.ts";
import {
  type Dashboard,
  isPersonal,
  type PageContext,
  type pages,
  type Viewer,
} from "./context.ts";

export const ORGANIZATION = "/organizations/:organization";

const OF_EVERY_ACCOUNT = /^\/(?:account|find|models|predictions|tokens|uploads)(?=$|[/?#])/;
const OF_THE_PERSON = /^\/account\/security\b/;

/** Returns the address of a page for an account. @param base what addresses of its pages begin with */
export function addressIn(base: string, address: string): string {
  if (base === "" || !OF_EVERY_ACCOUNT.test(address) || OF_THE_PERSON.test(address)) return address;
  const profile = /^\/account(?=$|[?#]|\/avatar)/;
  if (profile.test(address)) return address.replace(profile, `${base}/settings`);
  return base + address.replace(/^\/account\//, "/");
}

/** Returns what the addresses of pages of the viewer's account begin with. */
export const baseOf = (viewer: Pick<Viewer, "user" | "account"> | undefined): string =>
  !viewer || isPersonal(viewer) ? "" : organizationAddress(viewer.account);

export const organizationAddress = ({ username }: { username: string }) =>
  `/organizations/${username}`;

/** The accounts that a viewer can act for: their own, then organizations. */
export const accountsOf = ({ user, account, organizations }: Viewer): UserRow[] => {
  const listed = [user, ...organizations.map(({ organization }) => organization)];
  return listed.some(({ id }) => id === account.id) ? listed : [...listed, account];
};

/** Pages that lead to the page of their kind when the viewer switches to another account. */
const KINDS = [
  ...["/predictions", "/models/new", "/models/publish", "/tokens"],
  ...["usage", "deployments", "webhooks", "images", "shares", "data", "delete"].map(
    (page) => `/account/${page}`,
  ),
  "/account",
];

/** Returns the page of another account that is of the same kind as the one at `path`. */
export function pageOf(account: UserRow, viewer: Viewer, path: string): string {
  const base = baseOf({ ...viewer, account });
  const isAt = (address: string) => {
    const here = addressIn(baseOf(viewer), address);
    return path === here || path.startsWith(`${here}/`);
  };
  const kind = KINDS.find(isAt);
  if (kind !== undefined) return addressIn(base, kind);
  if (isAt("/models")) return addressIn(base, `/models/${account.username}`);
  return base || "/";
}

/** Adds the routes that every account has to those of an organization. */
export function mountForOrganizations(
  dashboard: ReturnType<typeof pages>,
  group: ReturnType<typeof pages>,
): void {
  for (const { method, path, handler } of group.routes) {
    const address = addressIn(ORGANIZATION, path);
    if (address !== path) dashboard.on(method, address, handler);
  }
}

/** Lets the viewer act for the organization that the address names. @throws ProblemError not_found, forbidden */
export const loadAccount = createMiddleware<Dashboard>(async (c, next) => {
  const { viewer } = c.var;
  const [, name, page = ""] = /^\/organizations\/([^/]+)(?:\/([^/]+))?/.exec(c.req.path) ?? [];
  if (viewer && name !== undefined) {
    const { organization, role } = await membershipIn(c, viewer, name);
    requireSecondFactor(organization, viewer.caller, false);
    // Members of a suspended organization can leave it.
    if (page !== "members") requireUnsuspended(organization);
    const made = { maker: viewer.user.id, maker_name: viewer.user.username };
    const caller = { ...viewer.caller, user_id: organization.id, ...made, role };
    c.set("viewer", { ...viewer, account: organization, caller });
    c.set("caller", caller);
  }
  await next();
});

async function membershipIn(c: PageContext, viewer: Viewer, name: string): Promise<Membership> {
  const listed = viewer.organizations.find(({ organization }) => organization.username === name);
  if (listed) return listed;
  const found = await findOrganization(c.var.services.db, name, viewer.user.id);
  if (!found || found.role === null) throw organizationNotFound(name);
  return { organization: found.organization, role: found.role };
}

/** Elements that lead on to a page. `data-own` marks those whose address is that of their account already. */
const LINKS = {
  href: "a:not([data-own])[href]",
  action: "form:not([data-own])[action]",
  "data-chat": "[data-chat]",
  "data-playground": "[data-playground]",
  "data-recent": "[data-recent]",
};

/** Requires a session below `/organizations/{organization}`, and keeps what pages link to there. */
export const stayInOrganization = createMiddleware<Dashboard>(async (c, next) => {
  if (!/^\/organizations\/[^/]/.test(c.req.path)) return next();
  const redirected = await requireUser(c, next);
  if (redirected) return redirected;
  const base = baseOf(c.var.viewer);
  const location = c.res.headers.get("location");
  if (location !== null) c.header("location", addressIn(base, location));
  if (!c.res.headers.get("content-type")?.startsWith("text/html")) return;
  const rewriter = new HTMLRewriter();
  for (const [name, selector] of Object.entries(LINKS))
    rewriter.on(selector, {
      element: (element) => {
        const address = element.getAttribute(name) ?? "";
        element.setAttribute(name, addressIn(base, address));
      },
    });
  c.res = rewriter.transform(c.res);
});
