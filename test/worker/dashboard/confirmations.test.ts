/** Confirmations: client code asks the form's question before something is removed. */
import { expect, it } from "vitest";
import { type DashboardUser, newOperator } from "../support/dashboard-users.ts";
import { newExample } from "../support/examples.ts";
import { newInvitation, newShare, type RouteParameters } from "../support/route-parameters.ts";

const ASKS: [
  what: string,
  make: (person: DashboardUser) => Promise<RouteParameters>,
  on: (place: RouteParameters) => [page: string, action: string],
  question: string,
][] = [
  [
    "a shared link",
    newShare,
    ({ id }) => ["/account/shares", `/account/shares/${id}/revoke`],
    "Revoke this link? Whoever has it sees nothing any more, and it cannot be shown again.",
  ],
  [
    "an example",
    newExample,
    ({ owner, name, example }) => [
      `/models/${owner}/${name}/examples`,
      `/models/${owner}/${name}/examples/${example}/unpin`,
    ],
    "Remove this example? Its copy of the input, output and files is deleted.",
  ],
  [
    "an invitation",
    newInvitation,
    ({ id }) => ["/users", `/users/invitations/${id}/withdraw`],
    "Revoke this invitation? Its link stops working, and cannot be shown again.",
  ],
];

it.each(ASKS)("%s is removed after a question", async (_, make, on, question) => {
  const person = await newOperator();
  const [page, action] = on(await make(person));
  const { html } = await person.visitor.look(page);
  const form = html.match(/<form[^>]*>/g)?.find((tag) => tag.includes(`action="${action}"`));
  expect(form).toContain(`data-confirm="${question}"`);
});
