/** `/find`: models, and pages of the dashboard. With client code the same list is in a dialog (client/page.ts). */
import { ownerName } from "../../protocol/user.ts";
import { searchModels } from "../../services/models/search.ts";
import { organizationAddress } from "../addresses.ts";
import { isPersonal, type PageContext, pages, type Viewer } from "../context.ts";
import { SEARCH } from "../docs/contents.ts";
import { MAX_QUERY } from "../form.ts";
import { Submit } from "../ui/fields.tsx";

type Item = [address: string, name: string, hint?: string];

const MAX_MODELS = 8;

/** Addresses, names and other words to find them by. */
const EVERYBODY: Required<Item>[] = [
  ["/", "Home", "overview start first steps"],
  ["/models", "Models", "explore gallery browse"],
  ["/docs", "Docs", "api reference guides help calls openapi quickstart"],
];
const SIGNED_OUT: Required<Item>[] = [["/sign-in", "Log in", "login sign in"]];
const SIGNED_IN: Required<Item>[] = [
  ["/models/new", "Create a model", "new add"],
  ["/models/publish", "Publish a model", "push upload image"],
  ["/predictions", "Predictions", "runs jobs history cancel errors"],
  ["/tokens", "Access tokens", "new create api keys revoke secret"],
  ["/account", "Profile", "username avatar picture"],
  ["/account/usage", "Usage", "cost price billing storage csv"],
  ["/account/images", "Images", "container registry docker push pull tags repositories"],
  ["/account/security", "Security", "password passkey sessions log out sign out github"],
  ["/account/webhooks", "Webhooks", "new add endpoints callbacks events secrets"],
  ["/account/webhooks/deliveries", "Webhook deliveries", "redeliver replay events failed"],
  ["/account/shares", "Shared links", "share links revoke"],
  ["/account/audit", "Audit log", "history changes trail security who verify"],
  ["/account/data", "Export", "download your data account"],
  ["/organizations", "Organizations", "teams new create switch"],
  ["/account/delete", "Danger zone", "close remove delete your account"],
];
const OPERATOR: Required<Item>[] = [
  ["/fleet", "Fleet", "runners machines gpus drain"],
  ["/fleet/hardware", "Hardware", "classes gpu price pool"],
  ["/fleet/tokens", "Runner tokens", "add runner machine keys"],
  ["/users", "Users", "people accounts suspend invite operators"],
  ["/usage", "Usage of all accounts", "cost price billing csv month"],
  ["/audit", "Audit log of all accounts", "history changes trail compliance"],
  ["/look-up", "Look up a prediction", "search find anybody id support"],
];

const pagesOf = (viewer: Viewer | undefined) => [
  ...EVERYBODY,
  ...(viewer && !isPersonal(viewer) ? ofOrganization(viewer) : []),
  ...(viewer ? SIGNED_IN : SIGNED_OUT),
  ...(viewer?.operator ? OPERATOR : []),
];

const ofOrganization = ({ account }: Viewer): Required<Item>[] => [
  [organizationAddress(account), `Overview of ${account.username}`, "home organization"],
  [`${organizationAddress(account)}/members`, "Members", "people roles invite invitations"],
];

export const findPages = pages().get("/find", async (c) => {
  const query = c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "";
  const words = query.toLowerCase().split(/\s+/);
  const found = pagesOf(c.var.viewer).filter(([, name, other]) =>
    words.every((word) => `${name} ${other}`.toLowerCase().includes(word)),
  );
  const groups: [name: string, items: Item[]][] = [
    ["Models", query === "" ? [] : await modelsNamed(c, query)],
    ["Pages", found.map(([address, name]) => [address, name])],
    [
      "Docs",
      query === ""
        ? []
        : [[`${SEARCH}?${new URLSearchParams({ q: query })}`, `Search the docs for “${query}”`]],
    ],
  ];
  return c.render(
    <FindPage query={query} groups={groups.filter(([, items]) => items.length > 0)} />,
    {
      title: query === "" ? "Find" : `Find: ${query}`,
    },
  );
});

async function modelsNamed(c: PageContext, query: string): Promise<Item[]> {
  const request = { cursor: undefined, size: MAX_MODELS, url: c.req.url };
  const { items } = await searchModels(c.var.services, c.var.viewer?.caller, query, request);
  return items.map(({ owner, name, description }) => {
    const path = `${ownerName(owner)}/${name}`;
    return [`/models/${path}`, path, description];
  });
}

const FindPage = ({ query, groups }: { query: string; groups: [string, Item[]][] }) => (
  <>
    <h1>Find</h1>
    <search>
      <form method="get" action="/find" class="bar filter-bar">
        <input name="q" type="search" value={query} maxlength={MAX_QUERY} aria-label="Find" />
        <Submit kind="quiet">Find</Submit>
      </form>
    </search>
    <div class="finds" data-found>
      {groups.map(([name, items]) => (
        <section>
          <h2 class="quiet small">{name}</h2>
          <ul>
            {items.map(([address, label, hint]) => (
              <li>
                <a href={address}>
                  <bdi>{label}</bdi>
                  {hint && (
                    <small class="clip">
                      <bdi>{hint}</bdi>
                    </small>
                  )}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  </>
);
