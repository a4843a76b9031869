#!/usr/bin/env python3
"""Data that come over the network, end to end: a web server on this machine that takes its time, and clients that wait
for it in recv, in poll, and in threads of their own."""
import http.server
import json
import socketserver
import textwrap
import threading
import time
import unittest

from harness import PYTHON, CliTest

try:
    import torch  # noqa: F401
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False

SAMPLE_BYTES = 50_000
LATENCY_S = 0.008

JOB = """
    import asyncio, http.client, sys, threading, time, urllib.request
    import torch
    from torch.utils.data import DataLoader, Dataset

    client, port, workers, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

    class Samples(Dataset):
        kept = None

        def __len__(self):
            return 400

        def fetch(self, index):
            path = "/%d" % index
            if client == "plain":
                return urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path)).read()
            if client == "patient":  # one connection, with a time limit
                if self.kept is None:
                    self.kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                self.kept.request("GET", path)
                return self.kept.getresponse().read()
            if self.kept is None:
                self.kept = asyncio.new_event_loop()
                threading.Thread(target=self.kept.run_forever, daemon=True).start()
            return asyncio.run_coroutine_threadsafe(self.ask(path), self.kept).result()

        async def ask(self, path):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(("GET %s HTTP/1.0\\r\\n\\r\\n" % path).encode())
            data = await reader.read()
            writer.close()
            return data

        def __getitem__(self, index):
            data = self.fetch(index)
            return torch.frombuffer(bytearray(data[-4096:]), dtype=torch.uint8).float()

    torch.set_num_threads(1)
    model = torch.nn.Linear(4096, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Samples(), batch_size=8, num_workers=workers, shuffle=True)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
            time.sleep(0.01)
"""


class Store(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(LATENCY_S)
        self.send_response(200)
        self.send_header("Content-Length", str(SAMPLE_BYTES))
        self.end_headers()
        self.wfile.write(bytes(SAMPLE_BYTES))

    def log_message(self, *_):
        pass


@unittest.skipUnless(HAS_TORCH, "no torch for this python")
class Network(CliTest):
    def setUp(self):
        super().setUp()
        self.job = self.folder / "job.py"
        self.job.write_text(textwrap.dedent(JOB))
        self.store = Store(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.store.serve_forever, daemon=True).start()
        self.addCleanup(self.store.server_close)
        self.addCleanup(self.store.shutdown)

    def run_job(self, client, workers=2, epochs=3, phases="as_is", options=()):
        done = self.profile(PYTHON, str(self.job), client, self.store.server_port, workers, epochs, phases=phases,
                            options=["--force", *options])
        self.assert_status(done, 0)
        return json.loads((self.out / "profile.json").read_text())

    def assert_of_network(self, profile):
        stalls = profile["stalls"]
        self.assertGreater(stalls["as_is_fetch_frac"]["mean"], 0.3)
        self.assertGreater(stalls["as_is_fetch_frac"]["mean"], 4 * stalls["as_is_prep_frac"]["mean"])
        self.assert_received(profile)

    def assert_received(self, profile):
        data = profile["dataset"]
        self.assertEqual(data["layout"], "network")
        self.assertAlmostEqual(data["received_bytes_per_sample"], SAMPLE_BYTES, delta=2000)
        self.assertAlmostEqual(data["bytes_total"], 400 * SAMPLE_BYTES, delta=400 * 2000)
        self.assertIsNone(data["files"])
        self.assertEqual(profile["resources"]["bytes_from_storage_frac"], 1.0)
        self.assertIn("network-data", {issue["id"] for issue in profile["issues"]})

    def test_waiting_for_the_network_is_no_preparing(self):
        for client, workers in (("plain", 2), ("patient", 2), ("threads", 2), ("patient", 0)):
            with self.subTest(client=client, workers=workers):
                self.assert_of_network(self.run_job(client, workers))
        report = self.cli("report", self.out).stdout.decode()
        self.assertIn("wait: the network", report)
        self.assertNotIn("reading files", report.split("Why")[0])
        answer = json.loads(self.cli("whatif", self.out, "--set", "cache=100%", "--json").stdout)["predictions"][0]
        found = json.loads((self.out / "profile.json").read_text())["rates"]["as_is_samples_per_s"]
        self.assertGreater(answer["throughput_samples_per_s"]["ci90_low"], found["ci95_high"])
        refused = self.cli("whatif", self.out, "--set", "cache=100%", "cache_policy=page-cache")
        self.assert_status(refused, 2)
        self.assertIn(b"cache_policy=minio", refused.stderr)

    def test_states_of_data_from_the_network(self):
        """Nobody can choose what of them lies in a cache: as found and computing alone are what can be made."""
        profile = self.run_job("patient", epochs=1000, phases="cold,cached,synthetic,supply",
                               options=["--budget", "20s", "--target", "100%", "--stop"])
        if profile["stalls"]["as_is_fetch_frac"] is not None:
            self.assert_of_network(profile)
        else:
            self.assertTrue(profile["absent"]["stalls.as_is_fetch_frac"])
            self.assert_received(profile)
        issues = self.issues()
        self.assertNotIn("shim-failed", issues)
        self.assertIn("over the network", issues["files-not-chosen"]["detail"])
        for state in ("cold", "cached", "supply_cached", "supply_cold"):
            rate = state + "_samples_per_s"
            self.assertNotIn((state, "differential"), [(p["phase"], p["method"]) for p in profile["points"]])
            self.assertTrue(profile["rates"][rate] or profile["absent"]["rates." + rate])
        if profile["rates"]["synthetic_samples_per_s"] is None:
            self.assertTrue(profile["absent"]["rates.synthetic_samples_per_s"])
        else:
            self.assertIn("differential", profile["stalls"]["method"])
            self.assertIn("over the network", profile["absent"]["rates.cached_samples_per_s"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
