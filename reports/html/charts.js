// Draws the charts of the report from the JSON beside it. Every number is in a table too: without scripts, nothing is
// lost. Text reaches the page only through Chart.js's canvas, never as HTML.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (typeof Chart === "undefined") {
    document.documentElement.classList.add("no-charts");
    return;
  }
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const charts = [];
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function common() {
    Chart.defaults.color = color("soft");
    Chart.defaults.borderColor = color("line");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.animation = calm ? false : { duration: 300 };
    Chart.defaults.plugins.legend.display = false;
  }

  function timeline(canvas) {
    const phases = [...new Set(data.timeline.map((row) => row.phase))];
    const tints = ["wait", "fetch", "prep", "compute", "other"];
    // A row holds from its beginning to its end: two points draw it as a step. Where nothing was measured, or another
    // phase ran, the line ends.
    const points = (phase) => data.timeline.flatMap((row, i) => {
      if (row.phase !== phase) return [{ x: row.from, y: null }];
      const next = data.timeline[i + 1];
      const gap = next && next.from > row.to + 1e-3 * (row.to - row.from) ? [{ x: row.to, y: null }] : [];
      return [{ x: row.from, y: row.percent, row }, { x: row.to, y: row.percent, row }, ...gap];
    });
    return new Chart(canvas, {
      type: "line",
      data: {
        datasets: phases.map((phase, i) => ({
          label: phase, data: points(phase), borderColor: color(tints[i % tints.length]), borderWidth: 1.5,
          backgroundColor: color(tints[i % tints.length]) + "44", fill: true, pointRadius: 0, pointHitRadius: 6,
        })),
      },
      options: {
        parsing: false, interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: {
          legend: { display: phases.length > 1 },
          tooltip: { callbacks: { title: (items) => items.map((item) => item.raw.row.title), label: (item) => item.raw.row.label } },
        },
        scales: {
          x: { type: "linear", min: 0, max: data.timeline[data.timeline.length - 1].to, title: { display: true, text: "seconds since the first batch was asked for" } },
          y: { min: 0, suggestedMax: 20, max: data.timeline_top, title: { display: true, text: "% of time waiting" } },
        },
      },
    });
  }

  function histogram(canvas, entry) {
    return new Chart(canvas, {
      type: "bar",
      data: { labels: entry.labels, datasets: [{ data: entry.counts, backgroundColor: color(entry.tint), barPercentage: 1, categoryPercentage: .95 }] },
      options: {
        plugins: { tooltip: { callbacks: { title: (items) => "from " + items[0].label, label: (item) => item.formattedValue + " values" } } },
        scales: {
          x: { grid: { display: false }, ticks: { maxTicksLimit: 6, maxRotation: 0, autoSkipPadding: 14 } },
          y: { beginAtZero: true, ticks: { maxTicksLimit: 5, precision: 0 } },
        },
      },
    });
  }

  function draw() {
    charts.splice(0).forEach((chart) => chart.destroy());
    common();
    const canvas = document.getElementById("chart-timeline");
    if (canvas && data.timeline.length > 0) charts.push(timeline(canvas));
    data.distributions.forEach((entry, i) => charts.push(histogram(document.getElementById("chart-" + i), entry)));
  }

  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((element) => { element.open = true; });
    charts.forEach((chart) => chart.resize());
  });
})();
