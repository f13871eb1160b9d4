/** The pages and forms of budgets: of the viewer's account, and of any account for operators. */
import type { MiddlewareHandler } from "hono";
import { notFound } from "../../errors/errors.ts";
import type { Budget } from "../../protocol/budget.ts";
import { getUser } from "../../services/access/accounts.ts";
import {
  type BudgetManager,
  createBudget,
  deleteBudget,
  listBudgets,
  managerOf,
  mayChange,
  operatorOf,
  updateBudget,
} from "../../services/accounts/budgets.ts";
import { requireOperator, requireRole, viewerOf } from "../access.ts";
import { baseOf } from "../addresses.ts";
import { type Dashboard, type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { BudgetPage, NewBudgetPage, readBudget, readNewBudget, type Subject } from "./forms.tsx";

interface Place {
  manager: BudgetManager;
  /** The address of the pages of these budgets. */
  at: string;
  /** Returns the page that lists a budget. */
  listOf: (budget: Budget) => string;
}

async function ofViewer(c: PageContext): Promise<Place> {
  const viewer = viewerOf(c);
  const lists = {
    account: "/account/usage#budgets",
    member: `${baseOf(viewer)}/members`,
    token: "/tokens",
  };
  return {
    manager: await managerOf(c.var.services, viewer.caller),
    at: "/account/budgets",
    listOf: ({ scope }) => lists[scope],
  };
}

async function ofUser(c: PageContext): Promise<Place> {
  const { id, username } = await getUser(c.var.services, c.req.param("username") ?? "");
  const page = `/users/${username}`;
  return { manager: operatorOf(id), at: `${page}/budgets`, listOf: () => `${page}#budgets` };
}

/** Returns the subject of a new budget. Members set their own, unless the form names another subject. */
function subjectIn(c: PageContext, { member: limited }: BudgetManager, fields: Subject): Subject {
  const { member, token_id } = fields;
  if (token_id) return { token_id };
  if (member) return { member };
  return limited === "" ? {} : { member: viewerOf(c).user.username };
}

const DONE = "It takes effect within 10 seconds.";

/** Returns the routes of budgets, which the viewer's account has, and the page of any account for operators. */
const budgetRoutes = (
  path: "/account/budgets" | "/users/:username/budgets",
  access: MiddlewareHandler<Dashboard>,
  placeOf: (c: PageContext) => Promise<Place>,
) =>
  pages()
    .get(`${path}/new`, access, async (c) => showNew(c, await placeOf(c), c.req.query()))
    .post(path, access, async (c) => {
      const place = await placeOf(c);
      const { services } = c.var;
      const { done, draft } = await handleForm(c, async (form) => {
        const subject = subjectIn(c, place.manager, fieldsOf(form));
        return createBudget(services, place.manager, readNewBudget(form, subject));
      });
      if (draft) return showNew(c, place, draft.values ? fieldsOf(draft.values) : {}, draft);
      return redirectWithFlash(c, `Budget created. ${DONE}`, place.listOf(done));
    })
    .get(`${path}/:id`, access, async (c) => showOne(c, await placeOf(c), emptyDraft))
    .post(`${path}/:id`, access, async (c) => {
      const place = await placeOf(c);
      const { done, draft } = await handleForm(c, async (form) =>
        updateBudget(c.var.services, place.manager, idIn(c), readBudget(form)),
      );
      if (draft) return showOne(c, place, draft);
      return redirectWithFlash(c, `Budget changed. ${DONE}`, place.listOf(done));
    })
    .post(`${path}/:id/delete`, access, async (c) => {
      const place = await placeOf(c);
      const budget = await getBudget(c, place.manager);
      await deleteBudget(c.var.services, place.manager, budget.id);
      return redirectWithFlash(c, "Budget deleted.", place.listOf(budget));
    });

const fieldsOf = (form: FormData): Subject => ({
  member: fieldText(form, "member"),
  token_id: fieldText(form, "token_id"),
});

const idIn = (c: PageContext) => c.req.param("id") ?? "";

async function getBudget(c: PageContext, manager: BudgetManager): Promise<Budget> {
  const budgets = await listBudgets(c.var.services, manager);
  const found = budgets.find(({ id }) => id === idIn(c));
  if (!found) throw notFound(`The budget '${idIn(c)}'`);
  return found;
}

function showNew(c: PageContext, { manager, at }: Place, fields: Subject, draft = emptyDraft) {
  const subject = subjectIn(c, manager, fields);
  return c.render(<NewBudgetPage {...{ subject, at, draft }} />, { title: "New budget" });
}

async function showOne(c: PageContext, { manager, at }: Place, draft: Draft) {
  const budget = await getBudget(c, manager);
  const isOpen = mayChange(manager, budget);
  return c.render(<BudgetPage {...{ budget, at, isOpen, draft }} />, { title: "Budget" });
}

const reading = requireRole("member", "The budgets of the account");

export const budgetPages = budgetRoutes("/account/budgets", reading, ofViewer);
export const operatorBudgetPages = budgetRoutes(
  "/users/:username/budgets",
  requireOperator,
  ofUser,
);
