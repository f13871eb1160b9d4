/** Every page of the dashboard, by its route: for whom it is, and the addresses to see it at. */

/** What a deployment has for its pages to show. */
export interface Things {
  /** A model with versions, variables and runs, of the operator. */
  model: string;
  /** One without a version, of the newcomer. */
  bare: string;
  text: string;
  picture: string;
  failed: string;
  running: string;
}

/** The operator has all things; a newcomer has nothing but the bare model. */
type Somebody = "nobody" | "newcomer" | "operator";

interface Place {
  to: Somebody[];
  at: (things: Things) => string[];
  /** Something is going on there. */
  live?: true;
}

const everybody: Somebody[] = ["nobody", "newcomer", "operator"];
const people: Somebody[] = ["newcomer", "operator"];
const operators: Somebody[] = ["operator"];

const page = (to: Somebody[], ...addresses: string[]): Place => ({ to, at: () => addresses });

const MODEL = "/models/:owner/:name";
const RUN = "/predictions/:prediction_id";

/** Of a model: to its owner with all there can be, and with nothing yet. */
const ofModel = (suffix: string, ...others: Place[]): Place[] => [
  { to: ["operator"], at: ({ model }) => [`/models/${model}${suffix}`] },
  { to: ["newcomer"], at: ({ bare }) => [`/models/${bare}${suffix}`] },
  ...others,
];
const toStrangers = (suffix: string, to: Somebody[] = ["nobody", "newcomer"]): Place => ({
  to,
  at: ({ model }) => [`/models/${model}${suffix}`],
});

export const PLACES: Record<string, Place[]> = {
  "/": [page(everybody, "/")],
  "/sign-in": [page(["nobody"], "/sign-in", "/sign-in?error=access_denied")],
  "/sign-up": [page(everybody, "/sign-up")],
  "/set-up": [page(everybody, "/set-up")],
  "/users": [page(operators, "/users")],

  "/fleet": [{ ...page(operators, "/fleet"), live: true }],
  "/fleet/tokens": [page(operators, "/fleet/tokens")],
  "/fleet/hardware": [page(operators, "/fleet/hardware")],
  "/fleet/hardware/:identifier": [page(operators, "/fleet/hardware/cpu")],

  "/account": [page(people, "/account")],
  "/account/security": [page(people, "/account/security")],
  "/account/usage": [page(people, "/account/usage", "/account/usage?days=90")],
  "/account/delete": [page(people, "/account/delete")],
  "/tokens": [page(people, "/tokens")],

  "/models": [
    page(everybody, "/models", "/models?q=story"),
    page(["newcomer"], "/models?q=nothing-is-called-so", "/models?owner=newcomer"),
  ],
  "/models/new": [page(people, "/models/new")],
  [MODEL]: ofModel("", toStrangers("")),
  [`${MODEL}/versions`]: ofModel("/versions", toStrangers("/versions", ["nobody"])),
  [`${MODEL}/versions/:number{[1-9][0-9]{0,8}}`]: [
    { to: everybody, at: ({ model }) => [`/models/${model}/versions/1`] },
  ],
  [`${MODEL}/api`]: ofModel("/api", toStrangers("/api", ["nobody"])),
  [`${MODEL}/settings`]: ofModel("/settings"),
  [`${MODEL}/versions/new`]: ofModel("/versions/new"),
  [`${MODEL}/variables`]: ofModel("/variables"),
  [`${MODEL}/playground`]: [
    ...ofModel("/playground", toStrangers("/playground", ["newcomer"])),
    {
      to: operators,
      at: ({ model, text }) => [
        `/models/${model}/playground?prediction=${text}`,
        `/models/${model}/playground?tab=code`,
        `/models/${model}/playground?as=json`,
      ],
    },
  ],

  "/predictions": [
    page(["newcomer"], "/predictions"),
    { ...page(operators, "/predictions", "/predictions?status=failed"), live: true },
  ],
  [RUN]: [
    {
      to: operators,
      at: (things) =>
        [things.text, things.picture, things.failed].map((id) => `/predictions/${id}`),
    },
    { to: operators, at: ({ running }) => [`/predictions/${running}`], live: true },
  ],
};

/** Answered with something else than a page of one's own. */
export const NO_PLACES = [
  // Parts of pages, streams and files.
  `${RUN}/view`,
  `${RUN}/events`,
  `${RUN}/json`,
  "/uploads/:id",
  // Only for somebody whom GitHub has just sent.
  "/welcome",
];
