/** The forms of the prices of a version: …/versions/{n}/prices for its owner, and /fleet/prices/… for operators. */
import { type Setter, setVersionPrices } from "../../protocol/prices.ts";
import { parse } from "../../routes/router.ts";
import { setOperatorPrices, setOwnPrices } from "../../services/models/version-prices.ts";
import { requireOperator, requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { fieldText, handleForm } from "../form.ts";
import { PRICE_NAMES } from "./prices.tsx";
import { renderVersion } from "./version.tsx";

function readPricesForm(form: FormData) {
  const prices = PRICE_NAMES.flatMap(([name]) => {
    const text = fieldText(form, name).trim();
    return text === "" ? [] : [[name, text]];
  });
  const day = fieldText(form, "from").trim();
  return {
    prices: prices.length === 0 ? null : Object.fromEntries(prices),
    ...(day && { from: `${day}T00:00:00Z` }),
  };
}

async function handlePrices(c: PageContext, setter: Setter) {
  const { owner = "", name = "", number = "" } = c.req.param();
  const place = [owner, name, Number(number)] as const;
  const { services } = c.var;
  const { draft } = await handleForm(c, async (form) => {
    const body = parse(setVersionPrices, readPricesForm(form), "body");
    return setter === "owner"
      ? setOwnPrices(services, viewerOf(c).caller, place, body)
      : setOperatorPrices(services, place, body);
  });
  if (draft) return renderVersion(c, Number(number), draft);
  return redirectWithFlash(c, "Prices set.", `/models/${owner}/${name}/versions/${number}`);
}

const NUMBER = ":number{[1-9][0-9]{0,8}}";
const PRICES = `/models/:owner/:name/versions/${NUMBER}/prices`;

export const pricePages = pages().post(PRICES, requireUser, (c) => handlePrices(c, "owner"));

export const operatorPricePages = pages().post(
  `/fleet/prices/:owner/:name/${NUMBER}`,
  requireOperator,
  (c) => handlePrices(c, "operator"),
);
