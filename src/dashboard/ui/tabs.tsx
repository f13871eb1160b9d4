/** The tabs of the account pages. */
import type { PropsWithChildren } from "hono/jsx";
import { Tabs } from "./parts.tsx";

const TABS = [
  ["/account", "Profile"],
  ["/account/security", "Security"],
  ["/tokens", "Access tokens"],
  ["/account/images", "Images"],
  ["/account/shares", "Shared links"],
  ["/account/data", "Export"],
  ["/account/delete", "Danger zone"],
] as const;

export const AccountTabs = ({ current }: { current: (typeof TABS)[number][0] }) => (
  <Tabs label="Account" current={current} tabs={[...TABS]} />
);

const PAGES = [
  { address: "/fleet", tab: "Runners", title: "Fleet" },
  { address: "/fleet/tokens", tab: "Runner tokens", title: "Runner tokens" },
  { address: "/fleet/hardware", tab: "Hardware", title: "Hardware" },
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
