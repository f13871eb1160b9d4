/** The tabs of the account pages. */
import type { PropsWithChildren } from "hono/jsx";
import { useRequestContext } from "hono/jsx-renderer";
import { hasRole } from "../../domain/accounts/access.ts";
import { type Dashboard, isPersonal } from "../context.ts";
import { Tabs } from "./parts.tsx";

const SECURITY = "/account/security";

/** With the lowest role that opens each page of an organization. */
const TABS = [
  ["/account", "Profile", "admin"],
  [SECURITY, "Security", "owner"],
  ["/tokens", "Access tokens", "member"],
  ["/account/images", "Images", "developer"],
  ["/account/shares", "Shared links", "developer"],
  ["/account/audit", "Audit log", "admin"],
  ["/account/data", "Export", "admin"],
  ["/account/delete", "Danger zone", "owner"],
] as const;

export function AccountTabs({ current }: { current: (typeof TABS)[number][0] }) {
  const { viewer } = useRequestContext<Dashboard>().var;
  if (!viewer) return null;
  const tabs = TABS.filter(([address, , role]) =>
    isPersonal(viewer) ? true : address !== SECURITY && hasRole(viewer.caller, role),
  );
  return (
    <Tabs label="Account" current={current} tabs={tabs.map(([address, name]) => [address, name])} />
  );
}

const PAGES = [
  { address: "/fleet", tab: "Runners", title: "Fleet" },
  { address: "/fleet/tokens", tab: "Runner tokens", title: "Runner tokens" },
  { address: "/fleet/hardware", tab: "Hardware", title: "Hardware" },
  { address: "/fleet/metrics", tab: "Metrics", title: "Metrics" },
  { address: "/alerts", tab: "Alerts", title: "Alerts" },
] as const;

export const FleetTabs = ({
  current,
  children,
}: PropsWithChildren<{ current: (typeof PAGES)[number]["address"] }>) => (
  <div class="bar tabs-head">
    <h1>{PAGES.find(({ address }) => address === current)?.title}</h1>
    <Tabs
      label="Fleet"
      current={current}
      tabs={PAGES.map(({ address, tab }) => [address, tab] as const)}
    />
    {children}
  </div>
);
