/** Every page of the dashboard by its route: its visitors, and its URLs. */

/** Resources of the deployment that the pages show. */
export interface PageContent {
  /** A model with versions, variables and runs, of the operator. */
  model: string;
  /** A model without a version, of the newcomer. */
  bare: string;
  text: string;
  picture: string;
  failed: string;
  /** A run that the model's owner shows as an example. */
  example: string;
  /** A webhook endpoint that fails. */
  endpoint: string;
  /** The event of the failed run for the endpoint. */
  event: string;
  running: string;
  /** The ID of the runner of the running prediction. */
  runner: string;
  /** An organization of the operator, and the secret of an invitation to it. */
  organization: string;
  invitation: string;
  /** The ID of a token of the organization. */
  token: string;
  /** The ID of a token of the operator's own account. */
  ownToken: string;
  /** The ID of a budget of the operator's own account. */
  budget: string;
}

/** The operator owns everything but the bare model, which is all that the newcomer has. */
type PageVisitor = "nobody" | "newcomer" | "operator";

interface PageVisit {
  to: PageVisitor[];
  at: (things: PageContent) => string[];
  /** True if the page updates while it is open. */
  live?: true;
}

const everybody: PageVisitor[] = ["nobody", "newcomer", "operator"];
const people: PageVisitor[] = ["newcomer", "operator"];
const operators: PageVisitor[] = ["operator"];

const page = (to: PageVisitor[], ...addresses: string[]): PageVisit => ({
  to,
  at: () => addresses,
});

const MODEL = "/models/:owner/:name";
const RUN = "/predictions/:prediction_id";
const ORGANIZATION = "/organizations/:organization";

const ofOrganization = (page: string): PageVisit[] => [
  { to: operators, at: ({ organization }) => [`/organizations/${organization}${page}`] },
];

/** Returns visits to a page of a model with everything, and of one without a version, each by its owner. */
const ofModel = (suffix: string, ...others: PageVisit[]): PageVisit[] => [
  { to: ["operator"], at: ({ model }) => [`/models/${model}${suffix}`] },
  { to: ["newcomer"], at: ({ bare }) => [`/models/${bare}${suffix}`] },
  ...others,
];
const toStrangers = (suffix: string, to: PageVisitor[] = ["nobody", "newcomer"]): PageVisit => ({
  to,
  at: ({ model }) => [`/models/${model}${suffix}`],
});

export const PAGES: Record<string, PageVisit[]> = {
  "/": [page(everybody, "/")],
  "/find": [page(everybody, "/find?q=text")],
  "/sign-in": [page(["nobody"], "/sign-in", "/sign-in?error=access_denied")],
  "/sign-in/code": [page(["nobody"], "/sign-in/code")],
  "/sign-up": [page(everybody, "/sign-up")],
  "/set-up": [page(everybody, "/set-up")],
  "/users": [page(operators, "/users", "/users?show=operators", "/users?q=nobody-is-called-so")],
  "/users/:username": [page(operators, "/users/newcomer")],
  "/usage": [page(operators, "/usage", "/usage?month=all&by=day")],
  "/audit": [page(operators, "/audit", "/audit?verify=1")],
  "/look-up": [{ to: operators, at: ({ text }) => ["/look-up", `/look-up?id=${text}`] }],

  "/fleet": [{ ...page(operators, "/fleet"), live: true }],
  "/fleet/runners/:id": [
    { to: operators, at: ({ runner }) => [`/fleet/runners/${runner}`], live: true },
  ],
  "/fleet/runners/:id/log": [
    { to: operators, at: ({ runner }) => [`/fleet/runners/${runner}/log`] },
  ],
  "/fleet/tokens": [page(operators, "/fleet/tokens")],
  "/alerts": [page(operators, "/alerts")],
  "/status": [page(operators, "/status")],
  "/fleet/hardware": [page(operators, "/fleet/hardware")],
  "/fleet/metrics": [page(operators, "/fleet/metrics")],
  "/fleet/hardware/:identifier": [page(operators, "/fleet/hardware/cpu")],

  "/account": [page(people, "/account")],
  "/account/security": [page(people, "/account/security")],
  "/account/security/app": [page(people, "/account/security/app")],
  "/account/budgets/new": [page(people, "/account/budgets/new")],
  "/account/budgets/:id": [{ to: operators, at: ({ budget }) => [`/account/budgets/${budget}`] }],
  "/users/:username/budgets/new": [page(operators, "/users/newcomer/budgets/new")],
  "/users/:username/budgets/:id": [
    {
      to: operators,
      at: ({ model, budget }) => [`/users/${model.split("/")[0]}/budgets/${budget}`],
    },
  ],
  "/account/usage": [page(people, "/account/usage", "/account/usage?days=90")],
  "/account/images": [page(people, "/account/images")],
  "/account/shares": [page(people, "/account/shares")],
  "/account/deployments": [page(people, "/account/deployments")],
  "/account/deployments/:name": [{ to: operators, at: () => ["/account/deployments/alias"] }],
  "/account/webhooks": [page(people, "/account/webhooks")],
  "/account/webhooks/:id": [
    { to: operators, at: ({ endpoint }) => [`/account/webhooks/${endpoint}`] },
  ],
  "/account/webhooks/deliveries": [
    page(people, "/account/webhooks/deliveries", "/account/webhooks/deliveries?which=failed"),
  ],
  "/account/audit": [page(people, "/account/audit")],
  "/account/data": [page(people, "/account/data")],
  "/account/delete": [page(people, "/account/delete")],
  "/tokens": [page(people, "/tokens")],
  "/tokens/:id": [{ to: operators, at: ({ ownToken }) => [`/tokens/${ownToken}`] }],
  "/organizations": [page(people, "/organizations")],
  [ORGANIZATION]: ofOrganization(""),
  [`${ORGANIZATION}/members`]: ofOrganization("/members"),
  [`${ORGANIZATION}/tokens`]: ofOrganization("/tokens"),
  [`${ORGANIZATION}/tokens/:id`]: [
    {
      to: operators,
      at: ({ organization, token }) => [`/organizations/${organization}/tokens/${token}`],
    },
  ],
  [`${ORGANIZATION}/settings`]: ofOrganization("/settings"),
  [`${ORGANIZATION}/usage`]: ofOrganization("/usage"),
  [`${ORGANIZATION}/predictions`]: ofOrganization("/predictions"),
  [`${ORGANIZATION}/delete`]: ofOrganization("/delete"),
  [`${ORGANIZATION}/models/:owner`]: [
    {
      to: operators,
      at: ({ organization }) => [`/organizations/${organization}/models/${organization}`],
    },
  ],
  [`${ORGANIZATION}${MODEL}`]: [
    {
      to: operators,
      at: ({ organization, model }) => [`/organizations/${organization}/models/${model}`],
    },
  ],
  "/device": [page(people, "/device")],
  "/join/:invitation": [
    { to: ["nobody", "newcomer"], at: ({ invitation }) => [`/join/${invitation}`] },
  ],

  "/models": [
    page(everybody, "/models", "/models?q=text"),
    page(["newcomer"], "/models?q=nothing-is-called-so"),
  ],
  "/models/:owner": [
    page(["newcomer"], "/models/newcomer"),
    { to: everybody, at: ({ model }) => [`/models/${model.split("/")[0]}`] },
  ],
  "/models/new": [page(people, "/models/new")],
  "/models/publish": [page(people, "/models/publish")],
  "/models/shared": [page(people, "/models/shared")],
  [MODEL]: [
    ...ofModel("", toStrangers("")),
    {
      to: ["nobody", "operator"],
      at: ({ model, example }) => [`/models/${model}?example=${example}`],
    },
    {
      to: operators,
      at: ({ model, text }) => [
        `/models/${model}?prediction=${text}`,
        `/models/${model}?tab=code`,
        `/models/${model}?as=json`,
      ],
    },
  ],
  [`${MODEL}/examples`]: ofModel("/examples", toStrangers("/examples", ["nobody"])),
  [`${MODEL}/overview`]: ofModel("/overview", toStrangers("/overview", ["nobody"])),
  [`${MODEL}/versions`]: ofModel("/versions", toStrangers("/versions", ["nobody"])),
  [`${MODEL}/versions/:number{[1-9][0-9]{0,8}}`]: [
    { to: everybody, at: ({ model }) => [`/models/${model}/versions/1`] },
  ],
  [`${MODEL}/api`]: ofModel("/api", toStrangers("/api", ["nobody"])),
  [`${MODEL}/publish`]: ofModel("/publish"),
  [`${MODEL}/settings`]: ofModel("/settings"),
  [`${MODEL}/versions/new`]: ofModel("/versions/new"),
  [`${MODEL}/variables`]: ofModel("/variables"),
  [`${MODEL}/metrics`]: ofModel("/metrics"),

  "/predictions": [
    page(["newcomer"], "/predictions"),
    {
      ...page(operators, "/predictions", "/predictions?statuses=failed&id=0&token=an-old-one"),
      live: true,
    },
  ],
  [RUN]: [
    {
      to: operators,
      at: (things) =>
        [things.text, things.picture, things.failed].map((id) => `/predictions/${id}`),
    },
    { to: operators, at: ({ running }) => [`/predictions/${running}`], live: true },
  ],
  [`${RUN}/webhooks/:event_id`]: [
    { to: operators, at: ({ failed, event }) => [`/predictions/${failed}/webhooks/${event}`] },
  ],
};

/** Whether the parts of a page are those of another page, for an organization or by another owner. */
export const isRepetition = (route: string): boolean =>
  route.startsWith(`${ORGANIZATION}/`) || route.startsWith("/users/:username/budgets");

/** Routes that respond with something other than a full page. */
export const NOT_PAGES = [
  // Parts of pages, streams and files.
  "/account/audit/export",
  "/audit/export",
  "/account/export",
  "/account/usage.csv",
  "/usage.csv",
  "/fleet/runners/:id/log.txt",
  `${MODEL}/runs`,
  `${RUN}/view`,
  `${RUN}/why`,
  `${RUN}/events`,
  `${RUN}/json`,
  `${RUN}/logs.txt`,
  `${RUN}/output.txt`,
  `${RUN}/output.json`,
  "/uploads/:id",
  // test/worker/dashboard/shares.test.ts reads this page.
  "/shared/:token",
  "/shared/:token/files/:source/:name",
  // The page appears only after a login with GitHub.
  "/welcome",
];
