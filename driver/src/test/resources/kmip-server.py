"""A KMIP server for a test, by PyKMIP: FOLDER PORT PASSPHRASE, where the folder has certificate.pem and key.pem.

Prints the id of an AES-256 key that is active, and the passphrase as the key encrypts it for another client. Ends with
its standard input.
"""
import base64
import json
import os
import sys
import threading

from kmip import enums
from kmip.pie.client import ProxyKmipClient
from kmip.services.server.server import KmipServer

folder, port = sys.argv[1], int(sys.argv[2])
certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
policies = os.path.join(folder, "policies")
os.mkdir(policies)


def make_key():
    """Asks the server as a client does, so that the key is made by the protocol."""
    client = ProxyKmipClient("127.0.0.1", port, cert=certificate, key=key, ca=certificate, ssl_version="PROTOCOL_TLSv1_2")
    with client:
        usage = [enums.CryptographicUsageMask.ENCRYPT, enums.CryptographicUsageMask.DECRYPT]
        made = client.create(enums.CryptographicAlgorithm.AES, 256, cryptographic_usage_mask=usage)
        client.activate(made)
        nonce = os.urandom(16)
        cbc = {"cryptographic_algorithm": enums.CryptographicAlgorithm.AES, "block_cipher_mode": enums.BlockCipherMode.CBC,
               "padding_method": enums.PaddingMethod.PKCS5}
        sealed, _ = client.encrypt(sys.argv[3].encode(), uid=made, cryptographic_parameters=cbc, iv_counter_nonce=nonce)
    text = {"dek": base64.b64encode(sealed).decode(), "nonce": base64.b64encode(nonce).decode()}
    print(made, json.dumps(text, separators=(",", ":")), flush=True)


def end():
    while os.read(0, 100):  # not sys.stdin, whose lock the server's processes want
        pass
    os.killpg(0, 9)


os.setpgid(0, 0)
threading.Thread(target=end, daemon=True).start()
server = KmipServer("127.0.0.1", port, certificate, key, certificate, "TLS1.2", config_path=None,
                    log_path=os.path.join(folder, "server.log"), policy_path=policies, enable_tls_client_auth=False,
                    logging_level="INFO", database_path=os.path.join(folder, "keys.db"))
server.start()
threading.Timer(0, make_key).start()
server.serve()
